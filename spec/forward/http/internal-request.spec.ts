// What the gateway asks on its own account, against scripted backends.

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

const asking = suite('forward/http/ask')
const stage = new Stage()
asking.after.each(() => stage.clear())

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

/** Notes what it hears, in order. */
class Ear implements ResponseReceiver {
  readonly heard: string[] = []
  error: GatewayError | null = null
  reply: Reply | null = null
  #wake: (() => void) | null = null

  answered(reply: Reply): void {
    this.reply = reply
    this.#note(`answered ${reply.head.status}`)
  }

  failed(error: GatewayError): void {
    this.error = error
    this.#note(`failed: ${error.message}`)
  }

  async once(): Promise<string> {
    while (this.heard.length === 0) {
      const heard = new Promise<void>((resolve) => (this.#wake = resolve))
      await deadline(heard, WAIT_MS, 'an answer')
    }
    return this.heard.join()
  }

  #note(what: string): void {
    this.heard.push(what)
    this.#wake?.()
  }
}

function question(method = 'GET', body: Buffer | null = null, ms = 0) {
  return {
    head: createRequestHead(method, '/a?b', [['x-c', 'd']]),
    body,
    deadline: ms,
    sending: 'again' as const,
  }
}

asking('sends method, target, fields, Host and the body with its length', async () => {
  const backend = await stage.backend([{ wait: /hello$/ }, { send: OK }])
  const ear = new Ear()
  sendInternalRequest(poolOf(originAt(backend.port)), question('POST', Buffer.from('hello')), ear)
  assert.is(await ear.once(), 'answered 200')
  assert.is(contentOf(ear.reply!), 'ok')
  assert.is(
    backend.received,
    `POST /a?b HTTP/1.1\r\nhost: 127.0.0.1:${backend.port}\r\nx-c: d\r\ncontent-length: 5\r\n\r\nhello`,
  )
})

asking('names the host with its port, unless that is the usual one', async () => {
  const labels = ['a.example:8080', 'a.example:80', '[::1]:80', '10.0.0.1:443']
  const hosts = ['a.example:8080', 'a.example', '[::1]', '10.0.0.1:443']
  for (const [at, label] of labels.entries()) {
    const backend = await stage.backend(SERVE)
    const ear = new Ear()
    sendInternalRequest(poolOf({ ...originAt(backend.port), label }), question(), ear)
    await ear.once()
    assert.match(backend.received, `\r\nhost: ${hosts[at]!}\r\n`)
  }
})

asking('uses a connection again', async () => {
  const backend = await stage.backend(SERVE)
  const pool = poolOf(originAt(backend.port))
  for (let i = 0; i < 3; i++) {
    const ear = new Ear()
    sendInternalRequest(pool, question(), ear)
    await ear.once()
    assert.is(contentOf(ear.reply!), 'ok')
  }
  assert.is(backend.connections.length, 1)
})

asking('is asked by name over HTTP/2, too', async () => {
  const authorities: unknown[] = []
  const backend = await http2Backend(stage, (stream, headers) => {
    authorities.push([headers[':authority'], headers['host'], headers['content-length']])
    answerOk(stream, headers)
  })
  const origin = createOrigin({ kind: 'tcp', host: '127.0.0.1', port: backend.port }, INSECURE)
  const ear = new Ear()
  sendInternalRequest(poolOf(origin), question('POST', Buffer.from('hello')), ear)
  assert.is(await ear.once(), 'answered 200')
  assert.equal(authorities, [[`127.0.0.1:${backend.port}`, undefined, '5']])
  ear.reply!.body.cancel()
})

asking('passes over interim answers', async () => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
  const backend = await stage.backend([{ wait: HEAD }, { send: hints + OK }])
  const ear = new Ear()
  sendInternalRequest(poolOf(originAt(backend.port)), question(), ear)
  assert.is(await ear.once(), 'answered 200')
})

asking('tells why there is no answer', async () => {
  const backend = await stage.backend([])
  const origin = originAt(backend.port)
  await backend.close()
  const ear = new Ear()
  sendInternalRequest(poolOf(origin), question(), ear)
  assert.is(await ear.once(), 'failed: upstream call failed: connection refused')
})

asking('refuses when the pool is full, but not before it has returned', async () => {
  const backend = await stage.backend([{ wait: HEAD }])
  const pool = poolOf(originAt(backend.port), { poolMaxSize: 1, poolMaxWaiting: 0 })
  const [first, second, third] = [new Ear(), new Ear(), new Ear()]
  const call = sendInternalRequest(pool, question(), first)
  sendInternalRequest(pool, question(), second)
  sendInternalRequest(pool, question(), third).cancel()
  assert.equal(second.heard, [])
  assert.match(await second.once(), 'failed: upstream call failed: too many requests are waiting')
  assert.equal(third.heard, [])
  call.cancel()
  await backend.connections[0]?.untilClosed()
})

asking('gives up at the deadline, and the connection with it', async () => {
  const backend = await stage.backend([{ wait: HEAD }])
  const ear = new Ear()
  sendInternalRequest(poolOf(originAt(backend.port)), question('GET', null, 30), ear)
  assert.is(await ear.once(), 'failed: upstream call timeout')
  assert.is(ear.error!.code, 'BACKEND_TIMEOUT')
  await backend.connections[0]!.untilClosed()
})

asking('says nothing any more once it is cancelled', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }, { send: OK }])
  const ear = new Ear()
  const call = sendInternalRequest(poolOf(originAt(backend.port)), question(), ear)
  await backend.until((text) => HEAD.test(text))
  call.cancel()
  call.cancel()
  await backend.connections[0]!.untilClosed()
  assert.equal(ear.heard, [])
})

asking('fails by TLS settings that do not work, and throws nothing', async () => {
  const tls = { ...INSECURE, cert: 'no certificate' }
  const ear = new Ear()
  sendInternalRequest(
    poolOf(createOrigin({ kind: 'tcp', host: '127.0.0.1', port: 1 }, tls)),
    question(),
    ear,
  )
  assert.is(await ear.once(), 'failed: internal error')
})

asking.run()
