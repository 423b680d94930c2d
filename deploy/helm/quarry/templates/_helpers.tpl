{{- /* The shards, as a list in JSON: those of the shares before, and then those of now. */}}
{{- define "quarry.shards" -}}
{{- $shard := .Values.shard }}
{{- if and $shard.previous.shares (eq $shard.previous.generation $shard.generation) }}{{ fail "shard.previous needs another shard.generation: the pods of both have names" }}{{ end }}
{{- $shards := list }}
{{- range $shares := list $shard.previous (pick $shard "shares" "generation") }}
{{- range $i := until (int $shares.shares) }}
{{- $shards = append $shards (dict "role" (printf "shard-%s%d" (regexReplaceAll "(.+)" $shares.generation "${1}-") $i) "share" (printf "%d/%d" $i (int $shares.shares))) }}
{{- end }}
{{- end }}
{{- toJson $shards }}
{{- end }}

{{- /* The components that this layout runs, as a list in JSON. */}}
{{- define "quarry.roles" -}}
{{- if eq .Values.layout "single" }}["single"]
{{- else if eq .Values.layout "scaled" }}["ingest","pipeline","query"]
{{- else }}["ingest","pipeline",{{ range include "quarry.shards" . | fromJsonArray }}"{{ .role }}",{{ end }}"query"]
{{- end }}
{{- end }}

{{- /* The values of a component, as JSON. */}}
{{- define "quarry.values" -}}
{{- index .root.Values (ternary "shard" .role (hasPrefix "shard-" .role)) | toJson }}
{{- end }}

{{- /* The peers of a front: each share, and the name of its pods. */}}
{{- define "quarry.peers" -}}
{{- range $i, $shard := include "quarry.shards" . | fromJsonArray }}{{ if $i }},{{ end }}{{ $shard.share }}@{{ $.Release.Name }}-quarry-{{ $shard.role }}-pods:7080{{ end }}
{{- end }}

{{- define "quarry.selector" -}}
app.kubernetes.io/name: quarry
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "quarry.labels" -}}
app.kubernetes.io/name: quarry
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "quarry.image" -}}
{{ required "image.repository: the registry to which you pushed the image of make image" .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* The settings, with those that the chart decides. Secrets never belong here. */}}
{{- define "quarry.config" -}}
{{- if ne .Values.layout "single" }}
{{- $log := .Values.config.log | default dict }}
{{- if and (eq .Values.layout "sharded") (gt (int (max .Values.shard.shares .Values.shard.previous.shares)) (int ($log.partitions | default 4))) }}{{ fail "layout: sharded needs config.log.partitions of at least shard.shares" }}{{ end }}
{{- if ne ($log.driver | default "") "kafka" }}{{ fail "layout: scaled or sharded needs config.log.driver: kafka, with config.log.kafka.brokers" }}{{ end }}
{{- if not (hasPrefix "s3://" ((.Values.config.storage | default dict).segments | default "")) }}{{ fail "layout: scaled or sharded needs config.storage.segments: s3://BUCKET/FOLDER, because its pods share no disk" }}{{ end }}
{{- if not ((.Values.config.access | default dict).secret) }}{{ fail "layout: scaled or sharded needs config.access.secret, such as file:/etc/quarry/secrets/access-secret, because all pods must have the same" }}{{ end }}
{{- end }}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) (dict "data" "/var/lib/quarry/data" "listen" "0.0.0.0:7070" "metricsListen" "0.0.0.0:7071")) }}
{{- end }}

{{- define "quarry.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "quarry.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "quarry.pod" -}}
{{- $values := include "quarry.values" . | fromJson }}
{{- $isShard := hasPrefix "shard-" .role }}
metadata:
  labels: {{- include "quarry.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  annotations:
    checksum/config: {{ include "quarry.config" .root | sha256sum }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
  securityContext: {{- include "quarry.podSecurity" . | nindent 4 }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if ne .role "single" }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels: {{- include "quarry.selector" . | nindent 16 }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: {{ .root.Values.zoneKey }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "quarry.selector" . | nindent 10 }}
  {{- end }}
  containers:
    - name: quarry
      image: {{ include "quarry.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [serve, --config, /etc/quarry/quarry.yaml{{ if ne .role "single" }}, --role, {{ ternary "query" .role $isShard }}{{ end }}
        {{- if $isShard }}{{ range include "quarry.shards" .root | fromJsonArray }}{{ if eq .role $.role }}, --set, {{ printf "shard.share=%s" .share | quote }}{{ end }}{{ end }}, --set, "shard.listen=0.0.0.0:7080"
        {{- else if and (eq .root.Values.layout "sharded") (eq .role "query") }}, --set, {{ printf "shard.peers=%s" (include "quarry.peers" .root) | quote }}
        {{- end }}
        {{- if eq .role "pipeline" }}, --set, "git.listen=0.0.0.0:7081"
        {{- else if or $isShard (eq .role "query") }}, --set, {{ printf "git.peers=%s-quarry-pipeline-pods:7081" .root.Release.Name | quote }}
        {{- end }}]
      ports:
        - {name: http, containerPort: 7070}
        - {name: metrics, containerPort: 7071}
        {{- if $isShard }}
        - {name: sessions, containerPort: 7080}
        {{- else if eq .role "pipeline" }}
        - {name: git, containerPort: 7081}
        {{- end }}
      # A start may have to check and open large stores.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        failureThreshold: 6
      # After SIGTERM, /readyz is 503 for runtime.shutdownDelay while requests are served.
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 2
        failureThreshold: 2
      resources: {{- toYaml $values.resources | nindent 8 }}
      securityContext: {{- include "quarry.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /var/lib/quarry}
        - {name: tmp, mountPath: /tmp}
        - {name: config, mountPath: /etc/quarry/quarry.yaml, subPath: quarry.yaml, readOnly: true}
        {{- if .root.Values.existingSecret }}
        - {name: secrets, mountPath: /etc/quarry/secrets, readOnly: true}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {sizeLimit: 1Gi}
    - name: config
      configMap: {name: {{ .root.Release.Name }}-quarry}
    {{- if eq .role "ingest" }}
    - name: data
      emptyDir: {sizeLimit: 2Gi}
    {{- end }}
    {{- with .root.Values.existingSecret }}
    - name: secrets
      secret: {secretName: {{ . }}, defaultMode: 0440}
    {{- end }}
{{- end }}
