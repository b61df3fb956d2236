// Bytes of base64 in a text, which are no measure for its tokens.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EncodedByteCounter, MIN_ENCODED_BYTES } from '../../lib/text/encoded-bytes.ts'
import { fc } from '../support/fast-check.ts'
import { splits } from '../support/splits.ts'

function countIn(chunks: readonly Buffer[]): number {
  const counter = new EncodedByteCounter()
  for (const chunk of chunks)
    counter.add(Buffer.concat([Buffer.from('"'), chunk]), 1, chunk.length + 1)
  return counter.count
}

function modelOf(text: string): number {
  const runs = text.match(/[A-Za-z0-9+/=_\\-]+/g) ?? []
  return runs.filter((run) => run.length >= MIN_ENCODED_BYTES).join('').length
}

const encoded = suite('encoded bytes')

encoded('are runs without a space or punctuation, at every split', () => {
  const run = 'Ab0+/'.repeat(MIN_ENCODED_BYTES / 5 + 1)
  for (const text of [
    '',
    run,
    `{"text":"some words","image":"${run}","more":"words, and more words"}`,
    `${run} ${run}"${run}`,
    `${run.slice(0, MIN_ENCODED_BYTES - 1)} ${run.slice(0, MIN_ENCODED_BYTES)}`,
    `${run.slice(0, 100)}\\n${run}==`,
    `Gr\u00fc\u00dfe ${'\u6f22'.repeat(MIN_ENCODED_BYTES)}`,
  ])
    for (const chunks of splits(Buffer.from(text)))
      assert.is(countIn(chunks), modelOf(text), `${text.slice(0, 40)} ${chunks[0]?.length}`)
})

encoded('are counted equally however the text arrives', () => {
  const piece = fc.oneof(
    fc.constantFrom(' ', '"', 'word', '\u00fc'),
    fc.nat(700).map((length) => 'x'.repeat(length)),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.array(fc.nat(9_000)), (pieces, cuts) => {
      const bytes = Buffer.from(pieces.join(''))
      const at = [
        0,
        ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b),
        bytes.length,
      ]
      const chunks = at.slice(1).map((to, i) => bytes.subarray(at[i], to))
      assert.is(countIn(chunks), modelOf(pieces.join('')))
    }),
    { numRuns: 500 },
  )
})

encoded.run()
