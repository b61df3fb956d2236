// Compressed responses: the watch decodes a copy in parallel with the stream, within bounds.

import { Transform } from 'node:stream'
import zlib from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildResponseHead } from '../../../../lib/core/replies.ts'
import type { Outcome } from '../../../../lib/core/types.ts'
import { computeLlmCost, llmFactsOf } from '../../../../lib/forward/llm/usage/usage-settlement.ts'
import {
  CompressedWatch,
  FREE_EXPANSION_BYTES,
  keepDecodableCodings,
  MAX_DECODED_BYTES,
  MAX_UNDECODED_BYTES,
} from '../../../../lib/forward/llm/usage/watch-compressed.ts'
import { createResponseWatch } from '../../../../lib/forward/llm/usage/response-watch.ts'
import type { ResponseWatch } from '../../../../lib/forward/llm/usage/response-watch.ts'
import { deadline } from '../../../support/deadline.ts'
import { faultsOf } from '../../../support/faults.ts'
import { PROMPT_GUESS, bytesOf, typeOf } from '../../../support/llm/fixture.ts'
import type { Fixture } from '../../../support/llm/fixture.ts'
import { FIXTURES } from '../../../support/llm/fixtures.ts'
import { places } from '../../../support/splits.ts'

const { createZstdDecompress, zstdCompressSync } = zlib as {
  createZstdDecompress?: unknown
  zstdCompressSync?: (bytes: Buffer) => Buffer
}

const CODINGS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  'x-gzip': (bytes) => zlib.gzipSync(bytes),
  GZip: (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  'Deflate ': (bytes) => zlib.deflateRawSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes),
  ...(zstdCompressSync === undefined ? {} : { zstd: zstdCompressSync }),
}

async function done(watch: ResponseWatch): Promise<void> {
  await deadline(new Promise<void>((resolve) => watch.whenDone(resolve)), 30_000, 'the decoder')
}

function watchFor({ file, format }: Fixture, coding: string): ResponseWatch {
  const fields = [
    ['content-type', typeOf(file)],
    ['content-encoding', coding],
  ] as const
  return createResponseWatch(format, buildResponseHead(200, fields))
}

/** Each chunk is overwritten after the call. */
function show(watch: ResponseWatch, chunks: readonly Buffer[]): void {
  for (const chunk of chunks) {
    const passing = Buffer.from(chunk)
    watch.chunk(passing, 0, passing.length)
    passing.fill(0)
  }
}

/** A decoder with the given transform. */
function decoderOf(transform: (bytes: Buffer, hand: (bytes: Buffer | null) => void) => void) {
  return new Transform({
    transform: (bytes: Buffer, _encoding, callback) =>
      transform(bytes, (decoded) => callback(null, decoded ?? undefined)),
  })
}

/** A watch that records its calls. */
function noting() {
  const shown: number[] = []
  const ends: Outcome[] = []
  const seen = createResponseWatch('completions', buildResponseHead(200, [])).observed
  const watch: ResponseWatch = {
    observed: seen,
    chunk: (_bytes, from, to) => void shown.push(to - from),
    end: (outcome) => void ends.push(outcome),
    whenDone: (callback) => callback(),
  }
  return { shown, ends, watch }
}

const decoded = suite('decoded watch')

for (const [coding, compress] of Object.entries(CODINGS))
  decoded(`reads a response compressed with '${coding}'`, async () => {
    for (const fixture of FIXTURES) {
      const bytes = compress(bytesOf(fixture.file))
      for (const at of places(bytes.length, 6)) {
        const watch = watchFor(fixture, coding)
        show(watch, [bytes.subarray(0, at), bytes.subarray(at)])
        watch.end('complete')
        await done(watch)
        const { observed } = watch
        assert.equal([observed.usage, observed.ending], [fixture.usage, 'seen'], fixture.file)
        assert.equal(computeLlmCost(observed, PROMPT_GUESS), fixture.cost, fixture.file)
        assert.equal(llmFactsOf(observed), fixture.facts, fixture.file)
      }
    }
  })

decoded('reads single bytes, as long as the decoder is fast enough', async () => {
  const fixture = FIXTURES[0]!
  const bytes = zlib.gzipSync(bytesOf(fixture.file))
  const watch = watchFor(fixture, 'gzip')
  show(
    watch,
    Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1)),
  )
  watch.end('complete')
  await done(watch)
  assert.equal(watch.observed.usage, fixture.usage)
})

decoded('reads the decoded part of a truncated stream', async () => {
  const fixture = FIXTURES.find(({ file }) => file === 'messages-stream.sse')!
  const [start, ...rest] = bytesOf(fixture.file)
    .toString()
    .split(/(?<=\n\n)/)
  const gzip = zlib.createGzip({ flush: zlib.constants.Z_SYNC_FLUSH })
  const parts: Buffer[] = []
  gzip.on('data', (part: Buffer) => parts.push(part))
  gzip.write(start)
  await deadline(
    new Promise((resolve) => gzip.flush(() => resolve(null))),
    30_000,
    'the first event',
  )
  gzip.write(rest.join(''))
  gzip.destroy()
  const watch = watchFor(fixture, 'gzip')
  show(watch, parts)
  watch.end('backend_reset')
  await done(watch)
  assert.equal([watch.observed.usage?.input, watch.observed.ending], [25, 'missing'])
  assert.is(computeLlmCost(watch.observed, PROMPT_GUESS).basis, 'estimated')
})

decoded('gives up on bytes that are not in the named coding', async () => {
  for (const coding of ['gzip', 'deflate', 'br']) {
    const watch = watchFor(FIXTURES[0]!, coding)
    show(watch, [bytesOf(FIXTURES[0]!.file)])
    watch.end('complete')
    await done(watch)
    assert.equal([watch.observed.usage, watch.observed.ending], [null, 'missing'], coding)
  }
})

decoded('calls back at once when there is nothing to decode', () => {
  const watch = watchFor(FIXTURES[0]!, 'gzip')
  watch.end('client_closed')
  let calls = 0
  watch.whenDone(() => calls++)
  watch.whenDone(() => calls++)
  assert.is(calls, 2)
})

decoded('does not read a response in an unknown coding', () => {
  const unread = ['zip', 'compress', 'gzip, gzip', 'br,gzip', 'identity, gzip', 'constructor']
  if (createZstdDecompress === undefined) unread.push('zstd')
  for (const coding of unread) {
    const watch = watchFor(FIXTURES[0]!, coding)
    const bytes = bytesOf(FIXTURES[0]!.file)
    show(watch, [bytes, Buffer.from('x')])
    watch.end('complete')
    let isDone = false
    watch.whenDone(() => (isDone = true))
    assert.ok(isDone)
    const output = Math.ceil((bytes.length + 1) / 4)
    const cost = { input: PROMPT_GUESS, output, basis: 'estimated' }
    assert.equal(computeLlmCost(watch.observed, PROMPT_GUESS), cost, coding)
  }
  const twice = buildResponseHead(200, [
    ['content-type', 'application/json'],
    ['content-encoding', 'gzip'],
    ['content-encoding', 'gzip'],
  ])
  const watch = createResponseWatch('completions', twice)
  show(watch, [zlib.gzipSync(bytesOf('chat.json'))])
  watch.end('complete')
  assert.is(watch.observed.usage, null)
})

decoded('reads a response with the coding identity', () => {
  for (const coding of ['identity', ' Identity', '', ' , ']) {
    const watch = watchFor(FIXTURES[0]!, coding)
    show(watch, [bytesOf(FIXTURES[0]!.file)])
    watch.end('complete')
    assert.equal(watch.observed.usage, FIXTURES[0]!.usage, coding)
  }
})

decoded('gives up when too many bytes wait for the decoder', async () => {
  const { ends, watch: inner } = noting()
  const watch = new CompressedWatch(inner, () => decoderOf(() => {}))
  const half = Buffer.alloc(MAX_UNDECODED_BYTES / 2)
  watch.chunk(half, 0, half.length)
  watch.chunk(half, 0, half.length)
  assert.equal(ends, [])
  watch.chunk(half, 0, 1)
  assert.equal(ends, ['backend_reset'])
  watch.chunk(half, 0, half.length)
  watch.end('complete')
  await done(watch)
  assert.equal(ends, ['backend_reset'])
})

decoded('gives up on bytes that expand too much', async () => {
  const bomb = zlib.brotliCompressSync(Buffer.alloc(4 * FREE_EXPANSION_BYTES))
  const { ends, shown, watch: inner } = noting()
  const watch = new CompressedWatch(inner, () => zlib.createBrotliDecompress())
  watch.chunk(bomb, 0, bomb.length)
  watch.end('complete')
  await done(watch)
  assert.equal(ends, ['backend_reset'])
  const read = shown.reduce((all, length) => all + length, 0)
  assert.ok(read > 0 && read <= FREE_EXPANSION_BYTES, `${read}`)
})

decoded('gives up on a response that is too long, though it expands little', async () => {
  const piece = Buffer.alloc(1_048_576)
  const { ends, shown, watch: inner } = noting()
  const decoder = decoderOf((bytes, hand) => hand(bytes))
  const watch = new CompressedWatch(inner, () => decoder)
  for (let given = 0; given <= MAX_DECODED_BYTES; given += piece.length) {
    watch.chunk(piece, 0, piece.length)
    await deadline(new Promise((resolve) => setImmediate(resolve)), 30_000, 'a turn')
  }
  assert.equal(ends, ['backend_reset'])
  assert.is(shown.length, MAX_DECODED_BYTES / piece.length)
})

decoded('waits for the decoder no longer than its deadline', async () => {
  const { ends, watch: inner } = noting()
  const watch = new CompressedWatch(inner, () => decoderOf(() => {}), 20)
  watch.chunk(Buffer.from('x'), 0, 1)
  watch.end('complete')
  assert.equal(ends, [])
  await done(watch)
  assert.equal(ends, ['backend_reset'])
})

decoded('ends once, and survives a watch that throws', async () => {
  const { ends, watch: inner } = noting()
  inner.chunk = () => {
    throw new Error('a bug')
  }
  const watch = new CompressedWatch(inner, () => decoderOf((bytes, hand) => hand(bytes)))
  const faults = await faultsOf(1, () => {
    watch.chunk(Buffer.from('x'), 0, 1)
    watch.end('complete')
    return done(watch)
  })
  assert.equal([ends, faults], [['backend_reset'], ['a bug']])
})

decoded('is only asked for in codings that can be decoded', () => {
  const zstd = createZstdDecompress === undefined ? '' : 'zstd'
  const join = (...parts: string[]): string => parts.filter((part) => part !== '').join(', ')
  for (const [accepted, kept] of [
    ['gzip, deflate, br', 'gzip, deflate, br'],
    ['gzip,deflate;q=0.5 , identity;q=0', 'gzip,deflate;q=0.5 , identity;q=0'],
    ['', ''],
    ['gzip, deflate, br, zstd', join('gzip, deflate, br', zstd)],
    ['zstd', zstd],
    ['br;q=1.0, ZSTD;q=0.8, dcb, *;q=0.1', join('br;q=1.0', zstd && 'ZSTD;q=0.8')],
    ['gzipped, *', ''],
  ] as const)
    assert.is(keepDecodableCodings(accepted), kept)
})

decoded.run()
