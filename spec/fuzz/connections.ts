// Fuzzing of a whole gateway with nearly valid client bytes: every connection ends or is answered, the backend gets only
// what was sent, and nothing remains.

import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { assertNothingLeft } from '../faults/fault-support.ts'
import { routeTo } from '../support/gateway.ts'
import type { RunningGateway, Stage } from '../support/gateway.ts'
import {
  END_HEADERS,
  END_STREAM,
  fieldLines,
  frame,
  PADDED,
  PREFACE,
} from '../support/http2-frames.ts'
import { RawClient } from '../support/raw-client.ts'
import { Recorder } from '../support/smuggling/recorder.ts'
import { CUTS, changed, changes, cutAt } from './mutate.ts'
import { target } from './target.ts'

const WAIT_MS = 30_000
const LIMITS =
  'headTimeout: 150ms, bodyIdleTimeout: 150ms, responseIdleTimeout: 150ms, http1IdleTimeout: 150ms'
/** Parallel connections: most of them end by a timeout. */
const AT_ONCE = 32

const PIECES = [
  ...[
    '\r\n',
    '\n',
    '\r',
    '\0',
    ' ',
    ':',
    ';',
    '0',
    'f',
    '-',
    '\xff',
    'GET /b HTTP/1.1\r\nhost: b\r\n\r\n',
  ],
  ...[
    'content-length: 3\r\n',
    'transfer-encoding: chunked\r\n',
    'connection: close\r\n',
    '0\r\n\r\n',
  ],
  ...[
    'expect: 100-continue\r\n',
    'connection: upgrade\r\nupgrade: x\r\n',
    'HTTP/1.0',
    'HEAD',
    '\r\n\r\n',
  ],
]
const TEXTS = [
  'GET /1 HTTP/1.1\r\nhost: a\r\n\r\nPOST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello',
  'POST /3 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nt: 1\r\n\r\n' +
    'GET /4 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n',
]

async function open(stage: Stage): Promise<{ gateway: RunningGateway; backend: Recorder }> {
  const backend = stage.add(await Recorder.start())
  const gateway = await stage.gateway(
    `frontendPolicies: { http: { ${LIMITS} } }\n${routeTo(backend)}`,
  )
  return { gateway, backend }
}

/** Sends the chunks on one connection; returns what was received until its end. */
async function send(gateway: RunningGateway, chunks: readonly Buffer[]): Promise<string> {
  const client = await RawClient.connect(gateway.port)
  try {
    await client.sendApart(chunks)
    return await client.untilClosed(WAIT_MS)
  } finally {
    client.destroy()
  }
}

const http1 = target('serves only requests that were sent, with any other bytes', async (stage) => {
  const { gateway, backend } = await open(stage)
  const one = fc.tuple(fc.constantFrom(...TEXTS), changes(PIECES, 3), CUTS)
  const some = fc.array(one, { minLength: AT_ONCE, maxLength: AT_ONCE })
  return fc.asyncProperty(some, async (inputs) => {
    const from = backend.requests.length
    const answers = await Promise.all(
      inputs.map(([text, made, cuts]) => send(gateway, cutAt(changed(text, made), cuts))),
    )
    const numbers = answers.flatMap((text) =>
      [...text.matchAll(/^seen (\d+) /gm)].map(([, n]) => Number(n)),
    )
    const heads = backend.requests.slice(from).filter(({ head }) => !head.startsWith('HEAD'))
    // An interim, cut or empty response contains no number, but no number appears twice.
    assert.is(new Set(numbers).size, numbers.length)
    assert.ok(numbers.every((number) => heads.some((seen) => seen.number === number)))
    assert.equal(backend.ambiguous, [])
    const sent = inputs.map(([text, made]) => changed(text, made)).join('\n')
    for (const { target: path } of heads) assert.ok(sent.includes(path), `${path} was not sent`)
    await assertNothingLeft(gateway, { idle: gateway.live.pools[0]?.idle ?? 0 })
  })
})

const HEAD = fieldLines(
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/1'],
  [':authority', 'a'],
)
const FRAMES = [
  PREFACE,
  frame('settings', 0, 0, Buffer.from([0, 4, 0, 0, 255, 255])),
  frame('headers', END_HEADERS, 1, HEAD),
  frame('data', PADDED, 1, Buffer.from('\x03hello\0\0\0', 'latin1')),
  frame('update', 0, 0, Buffer.from([0, 0, 1, 0])),
  frame('ping', 0, 0, Buffer.alloc(8)),
  frame('headers', 0, 3, HEAD),
  frame('continuation', END_HEADERS, 3, fieldLines(['x', 'y'])),
  frame('data', END_STREAM, 1, Buffer.from('more')),
  frame('priority', 0, 5, Buffer.from([0, 0, 0, 1, 9])),
  frame('headers', END_HEADERS | END_STREAM, 3, fieldLines(['t', '1'])),
  frame('reset', 0, 1, Buffer.from([0, 0, 0, 8])),
  frame('goaway', 0, 0, Buffer.alloc(8)),
]
const FRAME_PIECES = FRAMES.slice(1).map((bytes) => bytes.toString('latin1'))
const WIRE = Buffer.concat(FRAMES).toString('latin1')

const http2 = target('ends every HTTP/2 connection with any frames', async (stage) => {
  const { gateway, backend } = await open(stage)
  const one = fc.tuple(changes(FRAME_PIECES, 4), CUTS)
  const some = fc.array(one, { minLength: AT_ONCE, maxLength: AT_ONCE })
  return fc.asyncProperty(some, async (inputs) => {
    await Promise.all(
      inputs.map(([made, cuts]) => {
        const bytes = WIRE.substring(0, 24) + changed(WIRE.substring(24), made)
        return send(gateway, cutAt(bytes, cuts))
      }),
    )
    assert.equal(backend.ambiguous, [])
    await assertNothingLeft(gateway, { idle: gateway.live.pools[0]?.idle ?? 0 })
  })
})

export const CONNECTIONS = [http1, http2]
