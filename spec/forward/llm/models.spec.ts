// Models by name: `llm` models, virtual models, aliases, and the edited body.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { answers, chatOf, LlmBackend, LlmStream } from '../../support/llm-backend.ts'
import { aiRoute, chatAsking, post, staged } from '../../support/llm/asking.ts'
import type { LlmResponse } from '../../support/llm/asking.ts'

const models = suite('LLM models')
const stage = new Stage()
models.after.each(() => stage.clear())

const OK = answers.json(chatOf(1, 1))

interface Served {
  readonly gateway: RunningGateway
  readonly backend: LlmBackend
}

/** An `llm` section whose models all use one provider; `$` stands for its params. */
async function llm(fields: string, ...script: (typeof OK)[]): Promise<Served> {
  const backend = stage.add(await LlmBackend.start(...(script.length === 0 ? [OK] : script)))
  const params = `provider: openAI, params: { baseUrl: "http://127.0.0.1:${backend.port}/v1" }`
  const gateway = await stage.gateway(
    `gateways: { default: { port: \${PORT}, address: 127.0.0.1 } }\n` +
      `llm: { gateways: [default], ${fields.replaceAll('$', params)} }`,
  )
  return { gateway, backend }
}

const errorOf = (text: string): Record<string, unknown> =>
  (JSON.parse(text) as { error: Record<string, unknown> }).error

models('are found by name or by pattern, and otherwise answer 404', async () => {
  const { gateway, backend } = await llm('models: [{ name: gpt-*, $ }, { name: claude-x, $ }]')
  for (const model of ['gpt-4o', 'claude-x'])
    assert.is((await post(gateway, chatAsking({ model }))).status, 200)
  assert.equal(
    backend.requests.map(({ json, target }) => [json['model'], target]),
    [
      ['gpt-4o', '/v1/chat/completions'],
      ['claude-x', '/v1/chat/completions'],
    ],
  )
  const response = await post(gateway, chatAsking({ model: 'other' }))
  assert.equal([response.status, response.headers['content-type']], [404, 'application/json'])
  assert.equal(errorOf(response.text), {
    message: "the model 'other' does not exist",
    type: 'invalid_request_error',
    param: null,
    code: 'model_not_found',
  })
  const missing = await post(gateway, '{"messages":[]}')
  assert.is(missing.status, 400)
  assert.is(errorOf(missing.text)['code'], 'missing_model')
  const path = '/v1/messages'
  const other = await post(gateway, chatAsking({ model: 'other' }), { path })
  assert.equal(
    [other.status, JSON.parse(other.text)],
    [
      404,
      {
        type: 'error',
        error: { type: 'not_found_error', message: "the model 'other' does not exist" },
      },
    ],
  )
  assert.is(backend.requests.length, 2)
})

models('are listed, except internal models and patterns', async () => {
  const { gateway, backend } = await llm(
    'models: [{ name: a, $ }, { name: hidden, visibility: internal, $ }, { name: "g*", $ }], virtualModels: [{ name: v, routing: { weighted: { targets: [{ model: hidden }] } } }]',
  )
  const response = await post(gateway, '', { path: '/v1/models', method: 'GET' })
  const list = JSON.parse(response.text) as { object: string; data: { id: string }[] }
  assert.is(list.object, 'list')
  assert.equal(
    list.data.map(({ id }) => id),
    ['a', 'v'],
  )
  const one = await post(gateway, '', { path: '/v1/models/a', method: 'GET' })
  assert.is((JSON.parse(one.text) as { id: string }).id, 'a')
  assert.is((await post(gateway, '', { path: '/v1/models/hidden', method: 'GET' })).status, 404)
  const fields = { 'anthropic-version': '2023-06-01' }
  const other = await post(gateway, '', { path: '/v1/models', method: 'GET', fields })
  assert.match(other.text, '"first_id":"a","last_id":"v","has_more":false')
  assert.is((await post(gateway, chatAsking({ model: 'hidden' }))).status, 404)
  assert.is((await post(gateway, chatAsking({ model: 'v' }))).status, 200)
  assert.is(backend.requests[0]!.json['model'], 'hidden')
})

models('are listed only if the API key may use them', async () => {
  const rule = `authorization: { rules: ['apiKey.tier == "gold"'] }`
  const allowed = 'allowedModels: [a, "sm*", v]'
  const keys = `keys: [{ key: few, ${allowed} }, { key: all, metadata: { tier: gold } }, { key: plain }]`
  const { gateway } = await llm(
    `policies: { apiKey: { ${keys} } }, models: [{ name: a, $ }, { name: b, $ }, { name: small, $ }, { name: dear, $, ${rule} }], virtualModels: [{ name: v, routing: { weighted: { targets: [{ model: a }] } } }, { name: w, routing: { weighted: { targets: [{ model: dear }] } } }]`,
  )
  const get = (path: string, key: string): Promise<LlmResponse> =>
    post(gateway, '', { path, method: 'GET', fields: { 'x-api-key': key } })
  const list = async (key: string): Promise<string[]> => {
    const { data } = JSON.parse((await get('/v1/models', key)).text) as { data: { id: string }[] }
    return data.map(({ id }) => id).toSorted()
  }
  assert.equal(await list('few'), ['a', 'small', 'v'])
  assert.equal(await list('all'), ['a', 'b', 'dear', 'small', 'v', 'w'])
  assert.equal(await list('plain'), ['a', 'b', 'small', 'v'])
  assert.is((await get('/v1/models/small', 'few')).status, 200)
  assert.is((await get('/v1/models/b', 'few')).status, 404)
})

models('are refused to clients that may not use them', async () => {
  const rule = `authorization: { rules: ['request.headers["x-team"] == "red"'] }`
  const { gateway, backend } = await llm(
    `models: [{ name: a, $, ${rule} }, { name: b, $ }], virtualModels: [{ name: v, routing: { failover: { targets: [{ model: a }, { model: b, priority: 1 }] } } }, { name: w, routing: { weighted: { targets: [{ model: a }] } } }]`,
  )
  const ask = async (model: string, team: string, path?: string) =>
    post(gateway, chatAsking({ model }), {
      fields: { 'x-team': team },
      ...(path === undefined ? {} : { path }),
    })
  assert.is((await ask('a', 'red')).status, 200)
  const denied = await ask('a', 'blue')
  assert.is(denied.status, 403)
  assert.is(errorOf(denied.text)['code'], 'model_not_allowed')
  const other = await ask('a', 'blue', '/v1/messages')
  assert.is(errorOf(other.text)['type'], 'permission_error')
  // As the target of a virtual model it is skipped.
  assert.is((await ask('v', 'blue')).status, 200)
  assert.is(backend.requests.at(-1)!.json['model'], 'b')
  assert.is((await ask('v', 'red')).status, 200)
  assert.is(backend.requests.at(-1)!.json['model'], 'a')
  assert.is((await ask('w', 'blue')).status, 403)
})

models('that are virtual divide by weight, fail over and follow conditions', async () => {
  const { gateway, backend } = await llm(
    `models: [{ name: a, $ }, { name: b, $ }], virtualModels: [` +
      `{ name: w, routing: { weighted: { targets: [{ model: a, weight: 0 }, { model: b, weight: 5 }] } } }, ` +
      `{ name: f, routing: { failover: { targets: [{ model: b, priority: 2 }, { model: a, priority: 1 }] } } }, ` +
      `{ name: c, routing: { conditional: { targets: [{ model: a, when: 'request.headers["x-tier"] == "gold"' }, { model: b }] } } }]`,
  )
  const calledModel = async (model: string, tier = ''): Promise<unknown> => {
    const response = await post(gateway, chatAsking({ model }), { fields: { 'x-tier': tier } })
    assert.is(response.status, 200)
    return backend.requests.at(-1)!.json['model']
  }
  for (let times = 5; times > 0; times--) assert.is(await calledModel('w'), 'b')
  assert.equal([await calledModel('c', 'gold'), await calledModel('c')], ['a', 'b'])
  assert.is(await calledModel('f'), 'a')
  backend.answer(answers.fails(500), OK)
  const before = backend.requests.length
  assert.is(await calledModel('f'), 'b')
  assert.is(backend.requests.length - before, 2)
})

models('have their own defaults, overrides and headers', async () => {
  const { gateway, backend } = await llm(
    'models: [{ name: a, $, defaults: { temperature: 0.5, top_p: 1 }, overrides: { user: u }, requestHeaders: { set: { x-mine: yes } }, responseHeaders: { set: { x-theirs: yes } } }]',
  )
  const response = await post(gateway, '{"user":"me","top_p":0.25,"model":"a"}')
  assert.is(backend.requests[0]!.text, '{"user":"u","top_p":0.25,"model":"a","temperature":0.5}')
  assert.is(backend.requests[0]!.headers['x-mine'], 'yes')
  assert.is(response.headers['x-theirs'], 'yes')
})

models('are replaced in place by the model of their provider', async () => {
  const { gateway, backend } = await staged(
    stage,
    { entry: 'name: p, provider: { openAI: { model: "real/1" } }' },
    OK,
  )
  await post(gateway, '{"a":1, "model" : "asked" ,"b":"model"}')
  await post(gateway, '{"a":1}')
  assert.equal(
    backend.requests.map(({ text }) => text),
    ['{"a":1, "model" : "real/1" ,"b":"model"}', '{"a":1,"model":"real/1"}'],
  )
  const [line] = await gateway.logged(1)
  assert.is(line!['gen_ai.request.model'], 'asked')
})

models('have aliases, an exact name before patterns', async () => {
  const aliases = 'ai: { modelAliases: { fast: gpt-mini, "gpt-*": gpt-big, "gpt-4*": gpt-four } }'
  const { gateway, backend } = await staged(stage, { policies: aliases }, OK)
  for (const model of ['fast', 'gpt-x', 'gpt-4o', 'else'])
    await post(gateway, chatAsking({ model }))
  assert.equal(
    backend.requests.map(({ json }) => json['model']),
    ['gpt-mini', 'gpt-big', 'gpt-four', 'else'],
  )
})

models('are listed by the provider of an ai backend', async () => {
  const list = { object: 'list', data: [{ id: 'x', object: 'model' }] }
  const { gateway } = await staged(stage, {}, answers.json(list))
  const response = await post(gateway, '', { path: '/v1/models', method: 'GET' })
  assert.equal(JSON.parse(response.text), list)
})

models('that the API key may not use are removed from the list of a provider', async () => {
  const policies =
    'apiKey: { mode: strict, keys: [{ key: few, allowedModels: [x, "sm*"] }, { key: all }] }'
  const openai = { object: 'list', data: [{ id: 'x' }, { id: 'y' }, { id: 'small', n: 1 }] }
  const anthropic = { data: [{ id: 'y' }, { id: 'x' }], first_id: 'y', last_id: 'x' }
  const gemini = { models: [{ name: 'models/x' }, { name: 'models/y' }], nextPageToken: 't' }
  const { gateway, backend } = await staged(stage, { policies }, OK)
  const get = async (key: string, list: unknown, path = '/v1/models'): Promise<LlmResponse> => {
    backend.answer(answers.json(list))
    const fields = { 'x-api-key': key, 'accept-encoding': 'gzip' }
    return post(gateway, '', { path, method: 'GET', fields })
  }
  const read = async (key: string, list: unknown): Promise<unknown> =>
    JSON.parse((await get(key, list)).text)
  assert.equal(await read('few', openai), { ...openai, data: [{ id: 'x' }, { id: 'small', n: 1 }] })
  assert.is(backend.requests[0]!.headers['accept-encoding'], undefined)
  assert.equal(await read('few', anthropic), { data: [{ id: 'x' }], first_id: 'x', last_id: 'x' })
  assert.equal(await read('few', gemini), { ...gemini, models: [{ name: 'models/x' }] })
  assert.equal(await read('all', openai), openai)
  assert.equal(await read('few', [{ id: 'y' }, { id: 'x' }]), [{ id: 'x' }])
  assert.equal(await read('few', { object: 'other' }), { object: 'other' })
  // What cannot be filtered is not forwarded.
  for (const list of ['{"data":', 'no list', { data: [], x: 'x'.repeat(5_000_000) }])
    assert.is((await get('few', list)).status, 503)
  const broken = new LlmStream({ 'content-type': 'application/json' })
  backend.answer(broken.answer)
  const fields = { 'x-api-key': 'few' }
  const cut = post(gateway, '', { path: '/v1/models', method: 'GET', fields })
  await broken.opened()
  await broken.send('{"data":[')
  broken.cut()
  assert.is((await cut).status, 503)
  assert.is((await get('few', { id: 'x' }, '/v1/models/x')).status, 200)
  assert.is((await get('few', { id: 'y' }, '/v1/models/y')).status, 404)
  backend.answer(answers.fails(401))
  assert.is((await post(gateway, '', { path: '/v1/models', method: 'GET', fields })).status, 401)
})

models('with names of any characters reach the provider unchanged', async () => {
  const backend = stage.add(await LlmBackend.start(OK))
  const gateway = await stage.gateway(
    aiRoute(backend, { policies: 'ai: { modelAliases: { "né\\"u": "modèle" } }' }),
  )
  await post(gateway, '{"model":"n\\u00e9\\"u"}')
  assert.is(backend.requests[0]!.json['model'], 'modèle')
})

models.run()
