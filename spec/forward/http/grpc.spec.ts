// gRPC to backends with and without TLS: every type of call, with a real client and a real server.

import {
  Metadata,
  Server,
  ServerCredentials,
  credentials,
  makeClientConstructor,
  status,
} from '@grpc/grpc-js'
import type {
  Client,
  ClientDuplexStream,
  ClientReadableStream,
  ClientUnaryCall,
  ClientWritableStream,
  ServiceDefinition,
  ServiceError,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../support/deadline.ts'
import { Stage, routeTo } from '../../support/gateway.ts'
import { CERT, KEY } from '../../support/tls-pair.ts'

const grpc = suite('forward/http/grpc')
const stage = new Stage()
grpc.after.each(() => stage.clear())

const WAIT_MS = 30_000

const method = (path: string, requestStream: boolean, responseStream: boolean) => ({
  path: `/test.Echo/${path}`,
  requestStream,
  responseStream,
  requestSerialize: (text: string) => Buffer.from(text),
  requestDeserialize: (bytes: Buffer) => bytes.toString(),
  responseSerialize: (text: string) => Buffer.from(text),
  responseDeserialize: (bytes: Buffer) => bytes.toString(),
})

const SERVICE: ServiceDefinition = {
  unary: method('Unary', false, false),
  fail: method('Fail', false, false),
  down: method('Down', false, true),
  up: method('Up', true, false),
  both: method('Both', true, true),
}

const ECHO: UntypedServiceImplementation = {
  unary: (call: { request: string }, answer: (error: null, text: string) => void) =>
    answer(null, `got ${call.request}`),
  fail: (_call: unknown, answer: (error: Partial<ServiceError>) => void) => {
    const metadata = new Metadata()
    metadata.set('x-why', 'test')
    answer({ code: status.NOT_FOUND, details: 'no such thing', metadata })
  },
  down: (call: { request: string; write(text: string): void; end(): void }) => {
    for (let i = 0; i < 3; i++) call.write(`${call.request} ${i}`)
    call.end()
  },
  up: (call: NodeJS.EventEmitter, answer: (error: null, text: string) => void) => {
    const parts: string[] = []
    call.on('data', (part: string) => parts.push(part))
    call.on('end', () => answer(null, parts.join('+')))
  },
  both: (call: NodeJS.EventEmitter & { write(text: string): void; end(): void }) => {
    call.on('data', (part: string) => call.write(`echo ${part}`))
    call.on('end', () => call.end())
  },
}

interface EchoClient extends Client {
  unary(text: string, done: (error: ServiceError | null, answer: string) => void): ClientUnaryCall
  fail(text: string, done: (error: ServiceError | null) => void): ClientUnaryCall
  down(text: string): ClientReadableStream<string>
  up(done: (error: ServiceError | null, answer: string) => void): ClientWritableStream<string>
  both(): ClientDuplexStream<string, string>
}

async function startService(secured: boolean): Promise<number> {
  const server = new Server()
  server.addService(SERVICE, ECHO)
  const keys = [{ cert_chain: Buffer.from(CERT), private_key: Buffer.from(KEY) }]
  const access = secured
    ? ServerCredentials.createSsl(null, keys)
    : ServerCredentials.createInsecure()
  const bound = new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', access, (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  )
  const port = await deadline(bound, WAIT_MS, 'the service to listen')
  stage.add({ close: () => server.forceShutdown() })
  return port
}

/** A client through a gateway whose backend has these policies. */
async function connect(port: number, policies: string): Promise<EchoClient> {
  const gateway = await stage.gateway(
    `routes: [{ backends: [{ host: 127.0.0.1:${port}, policies: { ${policies} } }] }]\n`,
  )
  const Echo = makeClientConstructor(SERVICE, 'test.Echo')
  const client = new Echo(`127.0.0.1:${gateway.port}`, credentials.createInsecure())
  stage.add({ close: () => client.close() })
  return client as unknown as EchoClient
}

/** Plays every type of call, and returns what the client saw. */
async function callAll(client: EchoClient): Promise<string[]> {
  const unary = new Promise<string>((resolve, reject) =>
    client.unary('one', (error, answer) => (error === null ? resolve(answer) : reject(error))),
  )
  const fail = new Promise<string>((resolve) =>
    client.fail('x', (error) =>
      resolve(`${error?.code} ${error?.details} ${String(error?.metadata.get('x-why'))}`),
    ),
  )
  const down = new Promise<string>((resolve, reject) => {
    const parts: string[] = []
    const call = client.down('part')
    call.on('data', (part: string) => parts.push(part))
    call.on('error', reject).on('end', () => resolve(parts.join(', ')))
  })
  const up = new Promise<string>((resolve, reject) => {
    const call = client.up((error, answer) => (error === null ? resolve(answer) : reject(error)))
    for (const part of ['a', 'b', 'c']) call.write(part)
    call.end()
  })
  // Each message is sent after the answer to the one before it.
  const both = new Promise<string>((resolve, reject) => {
    const parts: string[] = []
    const call = client.both()
    call.on('data', (part: string) => {
      if (parts.push(part) < 3) call.write(String(parts.length + 1))
      else call.end()
    })
    call.on('error', reject).on('end', () => resolve(parts.join(', ')))
    call.write('1')
  })
  return deadline(Promise.all([unary, fail, down, up, both]), WAIT_MS, 'all calls to end')
}

const ANSWERS = [
  'got one',
  '5 no such thing test',
  'part 0, part 1, part 2',
  'a+b+c',
  'echo 1, echo 2, echo 3',
]

for (const [what, secured, policies] of [
  ['without TLS', false, ''],
  ['without TLS, with the version set', false, "http: { version: '2' }"],
  ['with TLS', true, 'backendTLS: { insecure: true }'],
] as const)
  grpc(`forwards every type of call to a backend ${what}`, async () => {
    const client = await connect(await startService(secured), policies)
    assert.equal(await callAll(client), ANSWERS)
    // Again, on the sessions that are open now.
    assert.equal(await callAll(client), ANSWERS)
  })

const HEAD = /\r\n\r\n/
const GET = 'GET /1 HTTP/1.1\r\nhost: a\r\n\r\n'

grpc('uses HTTP/1.1 for other requests to the same backend', async () => {
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const backend = await stage.backend([{ wait: HEAD }, { send: ok }, { again: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  const Echo = makeClientConstructor(SERVICE, 'test.Echo')
  const caller = new Echo(`127.0.0.1:${gateway.port}`, credentials.createInsecure())
  stage.add({ close: () => caller.close() })
  const failed = new Promise<ServiceError | null>((resolve) =>
    (caller as unknown as EchoClient).fail('x', resolve),
  )
  // The backend does not know HTTP/2.
  assert.is((await deadline(failed, WAIT_MS, 'the call to fail'))?.code, status.UNAVAILABLE)
  assert.is(backend.connections[0]!.received, GET)
  assert.match(backend.connections[1]!.received, /^PRI \* HTTP\/2\.0\r\n/)
})

grpc('uses the configured version for every request', async () => {
  const port = await startService(false)
  const policies = 'http: { version: 2 }'
  const gateway = await stage.gateway(
    `routes: [{ backends: [{ host: 127.0.0.1:${port}, policies: { ${policies} } }] }]\n`,
  )
  const client = await stage.client(gateway)
  client.send(GET)
  // The server speaks HTTP/2 only, and knows only gRPC.
  await client.until(/HTTP\/1\.1 415 /)
})

grpc.run()
