#!/bin/sh
# Runs a Kafka broker on loopback, in the foreground, for development:
#
#   deploy/kafka/run.sh LIBS DATA [PORT]
#
# LIBS is the directory of the jars (see pom.xml), DATA keeps the broker's data
# between runs, PORT is for clients (9092); the controller takes the next one.
set -eu
libs=${1:?directory of the jars} data=${2:?directory of the data} port=${3:-9092}
mkdir -p "$data"
config=$data/server.properties
cat >"$config" <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=CLIENTS://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
advertised.listeners=CLIENTS://127.0.0.1:$port
listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENTS:PLAINTEXT
inter.broker.listener.name=CLIENTS
controller.listener.names=CONTROLLER
log.dirs=$data/log
auto.create.topics.enable=false
default.replication.factor=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
EOF
if [ ! -e "$data/log/meta.properties" ]; then
	id=$(java -cp "$libs/*" kafka.tools.StorageTool random-uuid)
	java -cp "$libs/*" kafka.tools.StorageTool format -t "$id" -c "$config"
fi
echo "Kafka on 127.0.0.1:$port, data in $data; Ctrl-C stops it"
exec java -Xmx512m -XX:+UseSerialGC -cp "$libs/*" kafka.Kafka "$config"
