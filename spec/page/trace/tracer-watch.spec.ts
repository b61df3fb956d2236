// How the page traces one request, and decompresses its bodies.

import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { watchTrace } from '../../../lib/page/trace/tracer.ts'
import { decompress, isCompressed } from '../../../lib/page/trace/trace-body.ts'
import { deadline } from '../../support/deadline.ts'
import { SAMPLE_LINES } from '../../support/ctl/sample-trace.ts'

const WAIT_MS = 30_000

interface Heard {
  readonly paths: string[]
  readonly told: string[]
  readonly texts: string[]
}

/** Watches what the server sends in these pieces. */
async function watched(expression: string, pieces: readonly string[], token = ''): Promise<Heard> {
  const heard: Heard = { paths: [], told: [], texts: [] }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(Buffer.from(piece))
      controller.close()
    },
  })
  const owner = {
    ready: (): void => void heard.told.push('ready'),
    steps(steps: readonly { text: string }[]): void {
      heard.told.push('steps')
      heard.texts.push(...steps.map(({ text }) => text))
    },
  }
  const open = (path: string): Promise<Response> => {
    heard.paths.push(path)
    return Promise.resolve(new Response(body))
  }
  const watching = watchTrace({ expression, token }, owner, new AbortController().signal, open)
  await deadline(watching, WAIT_MS, 'the end of the trace')
  return heard
}

const STREAM =
  ': ready\n\n' + SAMPLE_LINES.map((line) => `data: ${line}\n\n: keepalive\n\n`).join('')

const watch = suite('page/tracer-watch')

watch('receives every event, wherever the stream is split', async () => {
  for (let at = 1; at < 60; at++) {
    const pieces = [STREAM.slice(0, at), STREAM.slice(at, at * 40), STREAM.slice(at * 40)]
    const { texts } = await watched('', pieces.filter(Boolean))
    assert.equal(texts, SAMPLE_LINES)
  }
})

watch('traces any request, or those that match', async () => {
  assert.equal((await watched('', [])).paths, ['/api/trace'])
  assert.equal((await watched('a == "b&c"', [])).paths, [
    '/api/trace?expression=a%20%3D%3D%20%22b%26c%22',
  ])
  assert.equal((await watched('', [], 'abc')).paths, ['/api/trace?token=abc'])
  assert.equal((await watched('a', [], 'abc')).paths, ['/api/trace?expression=a&token=abc'])
})

watch(
  'is ready before the first event, and delivers the events of one chunk together',
  async () => {
    assert.equal((await watched('', [STREAM])).told, ['ready', 'steps'])
  },
)

watch('a refusal is reported with its reason', async () => {
  const owner = { ready: () => assert.unreachable(), steps: () => assert.unreachable() }
  const open = (): Promise<Response> => Promise.reject(new Error('invalid expression'))
  const { signal } = new AbortController()
  try {
    await deadline(
      watchTrace({ expression: '1+', token: '' }, owner, signal, open),
      WAIT_MS,
      'the refusal',
    )
    assert.unreachable()
  } catch (error) {
    assert.is((error as Error).message, 'invalid expression')
  }
})

/** As text. */
async function unpacked(bytes: Buffer, encoding: string): Promise<string> {
  const found = await deadline(decompress(new Uint8Array(bytes), encoding), WAIT_MS, 'the body')
  return found.kind === 'compressed' ? found.reason : Buffer.from(found.bytes).toString()
}

watch('unpacks bodies, with and without the frame of deflate', async () => {
  const plain = Buffer.from('hello '.repeat(100))
  assert.is(await unpacked(gzipSync(plain), 'GZIP '), plain.toString())
  assert.is(await unpacked(deflateSync(plain), 'deflate'), plain.toString())
  assert.is(await unpacked(deflateRawSync(plain), 'deflate'), plain.toString())
})

watch('says why a body cannot be decompressed', async () => {
  assert.is(await unpacked(Buffer.from('x'), 'compress'), 'unknown content coding compress')
  assert.is(
    await unpacked(Buffer.from('plain text'), 'gzip'),
    'the body is not gzip, although its head says so',
  )
})

watch('a body without content has nothing to decompress', () => {
  assert.equal(['', ' identity', 'gzip'].map(isCompressed), [false, false, true])
})

watch.run()
