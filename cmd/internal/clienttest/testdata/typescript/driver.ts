// Calls a server with the client that openapi-zod-client generated into quarry.ts. Each line of standard input is a
// call, and is answered by a line of standard output: see ../../driver_test.go. Zodios checks each request and each
// answer with the schemas.
import { createInterface } from "node:readline";
import { isErrorFromAlias } from "@zodios/core";
import { isAxiosError } from "axios";
import { api, createApiClient } from "./quarry";

interface Call {
  operation: string;
  credential?: Record<string, string>;
  path?: { name: string; value: string | number }[];
  parameters?: Record<string, unknown>; // of the query
  headers?: Record<string, string>; // parameters that are headers
  body?: unknown;
  bytes?: string; // a body that is not JSON, in base64
  lax?: boolean; // whether to send what the schema of a request does not allow
}

interface Answer {
  status?: number;
  value?: unknown;
  text?: string;
  error?: string;
}

const server = process.argv[2]!;
const strict = createApiClient(server, { validate: true });
const lax = createApiClient(server, { validate: "response" });

async function send(call: Call): Promise<Answer> {
  const endpoint = api.api.find((e) => e.alias === call.operation);
  if (!endpoint) return { error: `the client has no operation ${call.operation}` };
  const client = (call.lax ? lax : strict) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const config = {
    params: Object.fromEntries((call.path ?? []).map((p) => [p.name, p.value])),
    queries: call.parameters,
    headers: { ...call.credential, ...call.headers },
  };
  const method = client[call.operation]!;
  try {
    const body = call.bytes === undefined ? call.body : new File([Buffer.from(call.bytes, "base64")], "body");
    const data = await (endpoint.method === "get" ? method(config) : method(body, config));
    return typeof data === "string" ? { text: data } : { value: data };
  } catch (error) {
    if (!isAxiosError(error) || !error.response) return { error: String(error) };
    const { status, data } = error.response;
    // An error that is not as documented has no value, which the test does not accept.
    return isErrorFromAlias(api.api, call.operation as never, error) ? { status, value: data } : { status };
  }
}

async function main(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await send(JSON.parse(line) as Call)));
  }
}

void main();
