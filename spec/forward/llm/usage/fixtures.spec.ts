// Every stored response, at every split and in every form: the client gets its bytes, and the watch finds its usage.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildResponseHead } from '../../../../lib/core/replies.ts'
import type { BodyForm, Outcome } from '../../../../lib/core/types.ts'
import { TappedBody } from '../../../../lib/http/tapped-body.ts'
import type { LlmFormat, ObservedUsage } from '../../../../lib/forward/llm/llm-call-types.ts'
import { computeLlmCost, llmFactsOf } from '../../../../lib/forward/llm/usage/usage-settlement.ts'
import { createResponseWatch } from '../../../../lib/forward/llm/usage/response-watch.ts'
import { PROMPT_GUESS, bytesOf, typeOf } from '../../../support/llm/fixture.ts'
import type { Fixture } from '../../../support/llm/fixture.ts'
import { FIXTURES } from '../../../support/llm/fixtures.ts'
import { RecordingSink, PushedBody } from '../../../support/llm/pushing.ts'
import { watched } from '../../../support/llm/watched.ts'
import { splits } from '../../../support/splits.ts'

/** What the watch of a tapped body has read, once the client has all of it. */
function pass(chunks: readonly Buffer[], { file, format }: Fixture, form: BodyForm): ObservedUsage {
  const watch = createResponseWatch(
    format,
    buildResponseHead(200, [['content-type', typeOf(file)]]),
  )
  const ends: Outcome[] = []
  const source = new PushedBody(form === 'wire' ? 'chunked' : 'open')
  const body = new TappedBody(source, {
    chunk: (bytes, from, to) => watch.chunk(bytes, from, to),
    end: (outcome) => {
      ends.push(outcome)
      watch.end(outcome)
    },
  })
  const sink = new RecordingSink()
  body.start(sink, form)
  for (const chunk of chunks) source.push(chunk)
  source.sink.end(null)
  assert.is(sink.text, Buffer.concat(chunks).toString('latin1'))
  assert.is(sink.writes.length, chunks.length)
  assert.equal([ends, sink.calls], [['complete'], ['end']])
  return watch.observed
}

function wireOf(bytes: Buffer): Buffer {
  const half = Math.floor(bytes.length / 2)
  const parts = [bytes.subarray(0, half), bytes.subarray(half)].map((part) =>
    Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
  )
  return Buffer.concat([...parts, Buffer.from('0\r\nx-sum: 1\r\n\r\n')])
}

const fixtures = suite('watched fixtures')

for (const fixture of FIXTURES) {
  const { file, format, usage, cost, facts } = fixture

  const holds = (seen: ObservedUsage, where: string): void => {
    assert.equal(seen.usage, usage, where)
    assert.is(seen.ending, 'seen', where)
    assert.equal(computeLlmCost(seen, PROMPT_GUESS), cost, where)
    assert.equal(llmFactsOf(seen), facts, where)
  }

  fixtures(`finds the usage of ${file} as ${format}, at every split`, () => {
    for (const chunks of splits(bytesOf(file)))
      holds(pass(chunks, fixture, 'content'), `${file} ${chunks[0]?.length}`)
  })

  fixtures(`finds the same in the chunks of ${file} on the wire`, () => {
    for (const chunks of splits(wireOf(bytesOf(file))))
      holds(pass(chunks, fixture, 'wire'), `${file} ${chunks[0]?.length}`)
  })

  fixtures(`finds the same when each event of ${file} arrives alone`, () => {
    const events = bytesOf(file)
      .toString('latin1')
      .split(/(?<=\n\n|\r\n\r\n)/)
    const chunks = events.map((event) => Buffer.from(event, 'latin1'))
    holds(pass(chunks, fixture, 'content'), file)
  })
}

const BY_NAME: readonly LlmFormat[] = ['models', 'anthropicTokenCount', 'geminiCountTokens']

fixtures('finds usage and model of any dialect when the format is not known', () => {
  for (const { file, format, usage, facts } of FIXTURES) {
    if (BY_NAME.includes(format)) continue
    const seen = watched('detect', typeOf(file), [bytesOf(file)])
    assert.equal([seen.usage, seen.ending], [usage, 'seen'], file)
    assert.equal(seen.model ?? undefined, facts.responseModel, file)
    assert.is(llmFactsOf(seen).inputTokens, facts.inputTokens, file)
  }
})

fixtures.run()
