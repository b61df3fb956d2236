// Requests that the gateway makes itself, against scripted backends.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BACKEND_LIMITS } from '../../../lib/core/bounds.ts'
import type { BackendLimits } from '../../../lib/core/bounds.ts'
import type { GatewayError } from '../../../lib/core/errors.ts'
import type { Reply } from '../../../lib/core/types.ts'
import {
  sendInternalRequest,
  createRequestHead,
} from '../../../lib/forward/http/internal-request.ts'
import type { ResponseReceiver } from '../../../lib/forward/http/internal-request.ts'
import { ConnectionPools, createOrigin } from '../../../lib/forward/http/pools.ts'
import type { Origin } from '../../../lib/forward/http/pools.ts'
import type { ConnectionPool } from '../../../lib/forward/http/pool.ts'
import type { Step } from '../../support/backend.ts'
import { deadline } from '../../support/deadline.ts'
import { contentOf } from '../../support/exchange-of.ts'
import { Stage } from '../../support/gateway.ts'
import { answerOk, http2Backend } from '../../support/http2-backend.ts'

const internal = suite('forward/http/internal-request')
const stage = new Stage()
internal.after.each(() => stage.clear())

const WAIT_MS = 30_000
const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]
const INSECURE = {
  cert: null,
  key: null,
  root: null,
  hostname: null,
  insecure: true,
  alpn: ['h2', 'http/1.1'],
}

function poolOf(origin: Origin, limits: Partial<BackendLimits> = {}): ConnectionPool {
  const pools = stage.add(new ConnectionPools({ ...BACKEND_LIMITS, ...limits }))
  return pools.poolFor(origin)
}

function originAt(port: number): Origin {
  return createOrigin({ kind: 'tcp', host: '127.0.0.1', port }, null)
}

/** Records its calls in order. */
class RecordingReceiver implements ResponseReceiver {
  readonly calls: string[] = []
  error: GatewayError | null = null
  reply: Reply | null = null
  #wake: (() => void) | null = null

  answered(reply: Reply): void {
    this.reply = reply
    this.#record(`answered ${reply.head.status}`)
  }

  failed(error: GatewayError): void {
    this.error = error
    this.#record(`failed: ${error.message}`)
  }

  async once(): Promise<string> {
    while (this.calls.length === 0) {
      const called = new Promise<void>((resolve) => (this.#wake = resolve))
      await deadline(called, WAIT_MS, 'a response')
    }
    return this.calls.join()
  }

  #record(call: string): void {
    this.calls.push(call)
    this.#wake?.()
  }
}

function createRequest(method = 'GET', body: Buffer | null = null, ms = 0) {
  return {
    head: createRequestHead(method, '/a?b', [['x-c', 'd']]),
    body,
    deadline: ms,
  }
}

internal('sends method, target, fields, Host and the body with its length', async () => {
  const backend = await stage.backend([{ wait: /hello$/ }, { send: OK }])
  const receiver = new RecordingReceiver()
  sendInternalRequest(
    poolOf(originAt(backend.port)),
    createRequest('POST', Buffer.from('hello')),
    receiver,
  )
  assert.is(await receiver.once(), 'answered 200')
  assert.is(contentOf(receiver.reply!), 'ok')
  assert.is(
    backend.received,
    `POST /a?b HTTP/1.1\r\nhost: 127.0.0.1:${backend.port}\r\nx-c: d\r\ncontent-length: 5\r\n\r\nhello`,
  )
})

internal('sends Host with the port, unless it is the default port', async () => {
  const labels = ['a.example:8080', 'a.example:80', '[::1]:80', '10.0.0.1:443']
  const hosts = ['a.example:8080', 'a.example', '[::1]', '10.0.0.1:443']
  for (const [at, label] of labels.entries()) {
    const backend = await stage.backend(SERVE)
    const receiver = new RecordingReceiver()
    sendInternalRequest(poolOf({ ...originAt(backend.port), label }), createRequest(), receiver)
    await receiver.once()
    assert.match(backend.received, `\r\nhost: ${hosts[at]!}\r\n`)
  }
})

internal('reuses a connection', async () => {
  const backend = await stage.backend(SERVE)
  const pool = poolOf(originAt(backend.port))
  for (let i = 0; i < 3; i++) {
    const receiver = new RecordingReceiver()
    sendInternalRequest(pool, createRequest(), receiver)
    await receiver.once()
    assert.is(contentOf(receiver.reply!), 'ok')
  }
  assert.is(backend.connections.length, 1)
})

internal('sends the authority over HTTP/2', async () => {
  const authorities: unknown[] = []
  const backend = await http2Backend(stage, (stream, headers) => {
    authorities.push([headers[':authority'], headers['host'], headers['content-length']])
    answerOk(stream, headers)
  })
  const origin = createOrigin({ kind: 'tcp', host: '127.0.0.1', port: backend.port }, INSECURE)
  const receiver = new RecordingReceiver()
  sendInternalRequest(poolOf(origin), createRequest('POST', Buffer.from('hello')), receiver)
  assert.is(await receiver.once(), 'answered 200')
  assert.equal(authorities, [[`127.0.0.1:${backend.port}`, undefined, '5']])
  receiver.reply!.body.cancel()
})

internal('ignores interim responses', async () => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
  const backend = await stage.backend([{ wait: HEAD }, { send: hints + OK }])
  const receiver = new RecordingReceiver()
  sendInternalRequest(poolOf(originAt(backend.port)), createRequest(), receiver)
  assert.is(await receiver.once(), 'answered 200')
})

internal('fails with the reason when there is no response', async () => {
  const backend = await stage.backend([])
  const origin = originAt(backend.port)
  await backend.close()
  const receiver = new RecordingReceiver()
  sendInternalRequest(poolOf(origin), createRequest(), receiver)
  assert.is(await receiver.once(), 'failed: upstream call failed: connection refused')
})

internal('fails when the pool is full, but not before the call has returned', async () => {
  const backend = await stage.backend([{ wait: HEAD }])
  const pool = poolOf(originAt(backend.port), { poolMaxSize: 1, poolMaxWaiting: 0 })
  const [first, second, third] = [
    new RecordingReceiver(),
    new RecordingReceiver(),
    new RecordingReceiver(),
  ]
  const call = sendInternalRequest(pool, createRequest(), first)
  sendInternalRequest(pool, createRequest(), second)
  sendInternalRequest(pool, createRequest(), third).cancel()
  assert.equal(second.calls, [])
  assert.match(await second.once(), 'failed: upstream call failed: too many requests are waiting')
  assert.equal(third.calls, [])
  call.cancel()
  await backend.connections[0]?.untilClosed()
})

internal('fails at the deadline and closes the connection', async () => {
  const backend = await stage.backend([{ wait: HEAD }])
  const receiver = new RecordingReceiver()
  sendInternalRequest(poolOf(originAt(backend.port)), createRequest('GET', null, 30), receiver)
  assert.is(await receiver.once(), 'failed: upstream call timeout')
  assert.is(receiver.error!.code, 'BACKEND_TIMEOUT')
  await backend.connections[0]!.untilClosed()
})

internal('makes no call after it is cancelled', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }, { send: OK }])
  const receiver = new RecordingReceiver()
  const call = sendInternalRequest(poolOf(originAt(backend.port)), createRequest(), receiver)
  await backend.until((text) => HEAD.test(text))
  call.cancel()
  call.cancel()
  await backend.connections[0]!.untilClosed()
  assert.equal(receiver.calls, [])
})

internal('fails for invalid TLS settings, and does not throw', async () => {
  const tls = { ...INSECURE, cert: 'no certificate' }
  const receiver = new RecordingReceiver()
  sendInternalRequest(
    poolOf(createOrigin({ kind: 'tcp', host: '127.0.0.1', port: 1 }, tls)),
    createRequest(),
    receiver,
  )
  assert.is(await receiver.once(), 'failed: internal error')
})

internal.run()
