// Requests with the model in their path or query: the gateway checks the same model that the provider reads.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { answers, chatOf, LlmBackend } from '../../support/llm-backend.ts'
import { chatAsking, remainingTokens, post, staged, tokens } from '../../support/llm/asking.ts'
import type { Written } from '../../support/llm/asking.ts'

const named = suite('models in heads')
const stage = new Stage()
named.after.each(() => stage.clear())

const GEMINI = '/v1beta/models/dear:generateContent'
const AZURE = '/openai/deployments/dear/chat/completions'
const BEDROCK = '/model/dear/converse'
const PATHS = [GEMINI, AZURE, BEDROCK]
const BODY = '{"contents":[]}'
const KEYED = 'apiKey: { mode: strict, keys: [{ key: k1, allowedModels: [cheap] }] }'
const fields = { authorization: 'Bearer k1' }

async function opened(written: Written) {
  return staged(stage, written, answers.json(chatOf(3, 4)))
}

named('are refused if the API key does not allow the model', async () => {
  const { gateway, backend } = await opened({ policies: KEYED })
  for (const path of PATHS) {
    assert.is((await post(gateway, BODY, { path, fields })).status, 403, path)
    const open = path.replace('dear', 'cheap')
    assert.is((await post(gateway, BODY, { path: open, fields })).status, 200, open)
    assert.is(backend.requests.at(-1)!.target, open)
  }
  assert.is(backend.requests.length, 3)
})

named('are refused if the body names another model', async () => {
  const { gateway, backend } = await opened({ policies: KEYED })
  const wrong = '{"contents":[],"model":"cheap"}'
  for (const path of PATHS) {
    const response = await post(gateway, wrong, { path, fields })
    assert.is(response.status, 400, path)
    assert.match(response.text, `'model' differs from the path or query`)
  }
  assert.is(backend.requests.filter(({ state }) => state === 'whole').length, 0)
  const path = GEMINI.replace('dear', 'cheap')
  for (const model of ['cheap', 'models/cheap'])
    assert.is((await post(gateway, JSON.stringify({ model }), { path, fields })).status, 200)
})

named('are refused if their path can be read in two ways', async () => {
  const { gateway } = await opened({ policies: KEYED })
  const path = '/models/cheap%2F..%2Fdear:generateContent'
  const response = await post(gateway, BODY, { path, fields })
  assert.is(response.status, 400)
  assert.match(response.text, 'the model in the path or query is ambiguous')
})

named('are checked for every method except read-only methods', async () => {
  const { gateway } = await opened({ policies: KEYED })
  for (const method of ['PUT', 'PATCH', 'DELETE'])
    assert.is((await post(gateway, chatAsking(), { method, fields })).status, 403, method)
  const list = await post(gateway, '', { path: '/v1/models', method: 'GET', fields })
  assert.is(list.status, 200)
})

named('of realtime have the model in the query', async () => {
  const { gateway } = await opened({ policies: KEYED })
  const client = await stage.client(gateway)
  const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\nauthorization: Bearer k1\r\n\r\n'
  client.send(`GET /v1/realtime?model=dear HTTP/1.1\r\nhost: a\r\n${upgrade}`)
  assert.match(await client.until(/\}\}$/), /^HTTP\/1.1 403 /)
})

named('get the model of an alias or of a provider in the same position', async () => {
  const alias = await opened({ policies: 'ai: { modelAliases: { dear: real } }' })
  const entry = 'name: p, provider: { gemini: { model: real } }'
  const pinned = await opened({ entry })
  for (const { gateway, backend } of [alias, pinned]) {
    for (const path of PATHS) await post(gateway, BODY, { path })
    assert.equal(
      backend.requests.map(({ target, text }) => [target, text.trim()]),
      PATHS.map((path) => [path.replace('dear', 'real'), BODY]),
    )
    await post(gateway, '{"model":"dear"}', { path: AZURE })
    await post(gateway, '{"model":"models/dear"}', { path: GEMINI })
    const texts = backend.requests.slice(-2).map(({ text }) => text.trim())
    assert.equal(texts, ['{"model":"real"}', '{"model":"models/real"}'])
  }
})

named("are put into the body where the path is the gateway's own", async () => {
  const entry = 'name: p, provider: { openAI: {} }, pathPrefix: /v1'
  const { gateway, backend } = await opened({ entry })
  await post(gateway, '{"messages":[]}', { path: AZURE })
  const [seen] = backend.requests
  assert.equal([seen!.target, seen!.json['model']], ['/v1/chat/completions', 'dear'])
})

named('choose from a catalogue', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(1, 1))))
  const url = `params: { baseUrl: "http://127.0.0.1:${backend.port}" }`
  const gateway = await stage.gateway(
    `gateways: { default: { port: \${PORT}, address: 127.0.0.1 } }\n` +
      `llm: { gateways: [default], models: [{ name: cheap, provider: gemini, ${url} }] }`,
  )
  const statusFor = async (model: string): Promise<number> =>
    (await post(gateway, BODY, { path: `/v1/models/${model}:generateContent` })).status
  assert.equal([await statusFor('cheap'), await statusFor('dear')], [200, 404])
})

named('are limited by model, without waiting for the body', async () => {
  const { gateway, backend } = await opened({ policies: tokens(1, 'key: llm.requestModel') })
  const client = await stage.client(gateway)
  client.send(`POST ${BEDROCK} HTTP/1.1\r\nhost: a\r\ncontent-length: 15\r\n\r\n{"con`)
  await (await backend.requestHead(1)).received(5)
  client.send('tents":[]}')
  await gateway.logged(1)
  assert.is((await post(gateway, BODY, { path: AZURE })).status, 429)
  assert.is((await post(gateway, BODY, { path: '/model/other/converse' })).status, 200)
  assert.is(remainingTokens(gateway), 1)
  const [line] = await gateway.logged(1)
  assert.is(line!['gen_ai.request.model'], 'dear')
})

named.run()
