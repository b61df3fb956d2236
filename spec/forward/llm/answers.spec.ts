// Responses of every dialect through a whole gateway, in pieces: the client gets every byte, the log gets the counts, and the
// budget is debited exactly once.

import zlib, { brotliCompressSync, gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LlmFormat } from '../../../lib/config/backend-types.ts'
import { Stage } from '../../support/gateway.ts'
import { answers } from '../../support/llm-backend.ts'
import {
  chatAsking,
  estimateOf,
  remainingTokens,
  post,
  staged,
  tokens,
} from '../../support/llm/asking.ts'
import { bytesOf, PROMPT_GUESS, typeOf } from '../../support/llm/fixture.ts'
import type { Fixture } from '../../support/llm/fixture.ts'
import { FIXTURES } from '../../support/llm/fixtures.ts'

const all = suite('LLM answers')
const stage = new Stage()
all.after.each(() => stage.clear())

const BUDGET = 1_000_000

const PATHS: Partial<Record<LlmFormat, string>> = {
  completions: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  generateContent: '/v1beta/models/g:streamGenerateContent',
  geminiCountTokens: '/v1beta/models/g:countTokens',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
  anthropicTokenCount: '/v1/messages/count_tokens',
  models: '/v1/models',
  detect: '/somewhere',
}

const BODY = chatAsking({ stream: true, stream_options: { include_usage: true } })

/** In one piece, in pieces of seven bytes, and in two pieces split at a few positions. */
function waysToSend(bytes: Buffer): Buffer[][] {
  const sevens = Array.from({ length: Math.ceil(bytes.length / 7) }, (_none, at) =>
    bytes.subarray(at * 7, at * 7 + 7),
  )
  const halves = [1, Math.floor(bytes.length / 2), bytes.length - 2].map((at) => [
    bytes.subarray(0, at),
    bytes.subarray(at),
  ])
  return [[bytes], sevens, ...halves]
}

/** The tokens that one such response takes from the budget. */
function costOf({ cost, format }: Fixture): number {
  if (format === 'models') return 0
  if (cost.basis === 'counted') return cost.input + cost.output
  assert.is(cost.input, PROMPT_GUESS)
  return estimateOf(BODY) + cost.output
}

for (const fixture of FIXTURES) {
  const { file, format, facts } = fixture
  all(`reach the client unchanged, and are counted: ${file}`, async () => {
    const bytes = bytesOf(file)
    const ways = waysToSend(bytes)
    const fields = { 'content-type': typeOf(file) }
    const written = { policies: tokens(BUDGET) }
    const script = ways.map((pieces) => answers.events(pieces, fields))
    const { gateway } = await staged(stage, written, ...script)
    const method = format === 'models' ? 'GET' : 'POST'
    for (const [at, pieces] of ways.entries()) {
      const before = remainingTokens(gateway)
      const response = await post(gateway, BODY, { path: PATHS[format]!, method })
      assert.is(before - remainingTokens(gateway), costOf(fixture), `${pieces.length} pieces`)
      assert.equal([response.status, response.end], [200, 'whole'])
      assert.ok(response.body.equals(bytes))
      const line = (await gateway.logged(at + 1))[at]!
      assert.is(line['gen_ai.usage.input_tokens'], facts.inputTokens)
      assert.is(line['gen_ai.usage.output_tokens'], facts.outputTokens)
      assert.is(line['gen_ai.usage.cache_read.input_tokens'], facts.cachedInputTokens)
      assert.is(line['gen_ai.response.model'], facts.responseModel)
      assert.is(line['gen_ai.provider.name'], 'p')
      assert.is(line['protocol'], 'llm')
    }
  })
}

all('are counted by the headers of Bedrock and TGI where the body reports nothing', async () => {
  const bedrock = {
    'x-amzn-bedrock-input-token-count': '12',
    'x-amzn-bedrock-output-token-count': '30',
  }
  const cached = {
    'x-amzn-bedrock-cache-read-input-token-count': '100',
    'x-amzn-bedrock-cache-write-input-token-count': '7',
  }
  const tgi = { 'x-prompt-tokens': '9', 'x-generated-tokens': '20' }
  const text = '{"outputs":[{"text":"Hello","stop_reason":"stop"}]}'
  const table: [path: string, fields: Record<string, string>, body: string, cost: number][] = [
    ['/model/mistral.mistral-7b/invoke', bedrock, text, 42],
    ['/model/anthropic.claude/invoke', { ...bedrock, ...cached }, '{"content":[]}', 149],
    // The body wins.
    [
      '/model/meta.llama3/invoke',
      bedrock,
      '{"prompt_token_count":5,"generation_token_count":6}',
      11,
    ],
    ['/generate', tgi, '{"generated_text":"Hello"}', 29],
    ['/', tgi, '[{"generated_text":"Hello"}]', 29],
    [
      '/generate',
      tgi,
      '{"generated_text":"Hello","details":{"generated_tokens":20,"prefill":[]}}',
      29,
    ],
  ]
  for (const [path, fields, body, cost] of table) {
    const answer = answers.events([Buffer.from(body)], {
      'content-type': 'application/json',
      ...fields,
    })
    const { gateway } = await staged(stage, { policies: tokens(BUDGET) }, answer)
    await post(gateway, '{"prompt":"hi"}', { path })
    assert.is(BUDGET - remainingTokens(gateway), cost, `${path} ${body}`)
  }
})

const IMAGE = 'iVBORw0KGgo/'.repeat(500_000)

all('are counted by their usage if one event has an image of several megabytes', async () => {
  const usage = '"usage":{"input_tokens":50,"output_tokens":1100,"total_tokens":1150}'
  const event = `data: {"type":"image_generation.completed","b64_json":"${IMAGE}",${usage}}\n\n`
  for (const [path, sent] of [
    ['/v1/images/generations', event],
    [
      '/v1/responses',
      `data: {"type":"response.completed","response":{"output":["${IMAGE}"],${usage}}}\n\n`,
    ],
  ] as const) {
    const answer = answers.events([Buffer.from(sent)])
    const { gateway } = await staged(stage, { policies: tokens(BUDGET) }, answer)
    const response = await post(gateway, '{"model":"m","stream":true}', { path })
    assert.is(response.body.length, sent.length)
    assert.is(BUDGET - remainingTokens(gateway), 1150, path)
  }
})

all('are not estimated by the bytes of images, in prompts or responses', async () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${IMAGE}` } }
  const body = chatAsking({ messages: [{ role: 'user', content: [image] }] })
  const answer = answers.json({ choices: [{ message: { content: 'hi', images: [image] } }] })
  const { gateway } = await staged(stage, { policies: tokens(BUDGET) }, answer)
  assert.is((await post(gateway, body)).status, 200)
  const [line] = await gateway.logged(1)
  assert.ok(Number(line!['gen_ai.usage.estimated']) > 0)
  assert.ok(BUDGET - remainingTokens(gateway) < 200)
})

all(
  'are charged only what they report for files, audio, moderations and token counting',
  async () => {
    const audio = Buffer.alloc(2_000_000, 7)
    const text = chatAsking({ input: 'some words '.repeat(10_000) })
    const json = 'application/json'
    const form = 'multipart/form-data; boundary=x'
    const usage = { type: 'tokens', input_tokens: 14, output_tokens: 45, total_tokens: 59 }
    const table: [
      path: string,
      type: string,
      body: string | Buffer,
      answer: object,
      cost: number,
    ][] = [
      ['/v1/files', form, audio, { id: 'file-1', bytes: 2_000_000 }, 0],
      ['/v1/uploads', json, text, { id: 'upload-1' }, 0],
      ['/v1/uploads/upload_1/parts', form, audio, { id: 'part-1' }, 0],
      ['/v1/audio/transcriptions', form, audio, { text: 'Imagine', usage }, 59],
      [
        '/v1/audio/transcriptions',
        form,
        audio,
        { text: 'Imagine', usage: { type: 'duration', seconds: 9 } },
        0,
      ],
      ['/v1/audio/translations', form, audio, { text: 'Imagine' }, 0],
      ['/v1/images/edits', form, audio, { data: [], usage: { ...usage, type: undefined } }, 59],
      ['/v1/listen', 'audio/wav', audio, { text: 'Imagine' }, 0],
      ['/v1/moderations', json, text, { id: 'modr-1', results: [{ flagged: false }] }, 0],
      ['/tokenize', json, text, { tokens: [1, 2, 3] }, 0],
      [
        '/v1/responses/input_tokens',
        json,
        text,
        { object: 'response.input_tokens', input_tokens: 11 },
        0,
      ],
      ['/model/anthropic.claude/count-tokens', json, text, { inputTokens: 11 }, 0],
      // Paths that servers may read in another way, and other requests, are charged by their size.
      ['/v1/chat/..;/moderations', json, text, {}, estimateOf(text)],
      ['/api/other', json, text, {}, estimateOf(text)],
    ]
    for (const [path, type, body, answer, cost] of table) {
      const { gateway } = await staged(stage, { policies: tokens(BUDGET) }, answers.json(answer))
      const response = await post(gateway, body, { path, fields: { 'content-type': type } })
      assert.is(response.status, 200)
      assert.is(BUDGET - remainingTokens(gateway), cost, path)
    }
  },
)

all('are charged by size where a configured path replaces that of an upload', async () => {
  const entry = 'name: p, provider: { openAI: {} }, pathOverride: /v1/own'
  const { gateway } = await staged(stage, { policies: tokens(BUDGET), entry }, answers.json({}))
  await post(gateway, chatAsking(), { path: '/v1/moderations' })
  assert.is(BUDGET - remainingTokens(gateway), estimateOf(chatAsking()))
})

all('with a recording are refused when the budget is exhausted, and files are not', async () => {
  const used = answers.json({ usage: { total_tokens: 20 } })
  const { gateway } = await staged(stage, { policies: tokens(10) }, used, answers.json({}))
  const fields = { 'content-type': 'multipart/form-data; boundary=x' }
  const send = async (path: string): Promise<number> =>
    (await post(gateway, 'x', { path, fields })).status
  assert.is(await send('/v1/audio/transcriptions'), 200)
  assert.is(await send('/v1/audio/transcriptions'), 429)
  assert.is(await send('/v1/files'), 200)
})

const CODINGS = { gzip: gzipSync, br: brotliCompressSync }

all('are counted through a decoder when they are compressed, and forwarded unchanged', async () => {
  const ofUse = ['chat-stream.sse', 'chat.json', 'messages-stream.sse', 'responses.json']
  for (const [coding, compress] of Object.entries(CODINGS))
    for (const fixture of FIXTURES.filter(({ file }) => ofUse.includes(file))) {
      const { file, format, facts } = fixture
      const bytes = compress(bytesOf(file))
      const half = Math.floor(bytes.length / 2)
      const fields = { 'content-type': typeOf(file), 'content-encoding': coding }
      const answer = answers.events([bytes.subarray(0, half), bytes.subarray(half)], fields)
      const { gateway, backend } = await staged(stage, { policies: tokens(BUDGET) }, answer)
      const options = { path: PATHS[format]!, fields: { 'accept-encoding': coding } }
      const response = await post(gateway, BODY, options)
      assert.ok(response.body.equals(bytes), file)
      assert.is(response.headers['content-encoding'], coding)
      // The client asked for usage itself, so nothing is removed.
      assert.is(backend.requests[0]!.headers['accept-encoding'], coding)
      const [line] = await gateway.logged(1)
      assert.is(line!['gen_ai.usage.output_tokens'], facts.outputTokens, `${coding} ${file}`)
      assert.is(BUDGET - remainingTokens(gateway), costOf(fixture))
    }
})

all('are not requested in a coding in which they could not be counted', async () => {
  const { gateway, backend } = await staged(stage, { policies: tokens(BUDGET) })
  const canDecode = 'createZstdDecompress' in zlib
  for (const [accepted, sent] of [
    ['gzip, deflate, br, zstd', canDecode ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br'],
    ['zstd', canDecode ? 'zstd' : undefined],
    ['br;q=0.5', 'br;q=0.5'],
  ] as const) {
    backend.answer(answers.json({}))
    await post(gateway, chatAsking(), { fields: { 'accept-encoding': accepted } })
    assert.is(backend.requests.at(-1)!.headers['accept-encoding'], sent)
  }
})

all('are not counted if they are errors, even if they contain usage', async () => {
  const { gateway } = await staged(stage, { policies: tokens(BUDGET) }, (_request, response) => {
    response.writeHead(422, { 'content-type': 'application/json' }).end(bytesOf('chat.json'))
  })
  assert.is((await post(gateway)).status, 422)
  assert.is(remainingTokens(gateway), BUDGET)
})

all.run()
