// API keys in requests to providers: which key is sent, and in which header.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { answers, chatOf, LlmBackend } from '../../support/llm-backend.ts'
import type { LlmRequest } from '../../support/llm-backend.ts'
import { aiRoute, chatAsking, post } from '../../support/llm/asking.ts'
import type { LlmRequestOptions, Written } from '../../support/llm/asking.ts'

const keys = suite('keys of providers')
const stage = new Stage()
keys.after.each(() => stage.clear())

const NAMES = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']

/** A placeholder in each header for a key. */
const PLACEHOLDERS = {
  authorization: 'Bearer placeholder',
  'x-api-key': 'placeholder',
  'api-key': 'placeholder',
  'x-goog-api-key': 'placeholder',
}

async function seen(
  written: Written,
  options: LlmRequestOptions = { fields: PLACEHOLDERS },
): Promise<LlmRequest> {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(1, 1))))
  const gateway = await stage.gateway(aiRoute(backend, written))
  assert.is((await post(gateway, chatAsking(), options)).status, 200)
  return backend.requests[0]!
}

function keysOf({ headers }: LlmRequest): Record<string, unknown> {
  const found = NAMES.filter((name) => headers[name] !== undefined)
  return Object.fromEntries(found.map((name) => [name, headers[name]]))
}

const ROUTE = 'backendAuth: { key: hush }'
const OPENAI = 'name: p, provider: { openAI: {} }'
const ANTHROPIC = 'name: p, provider: { anthropic: {} }'
const AZURE = 'name: p, provider: { azure: { resourceName: r, resourceType: openAI } }'
const GEMINI = 'name: p, provider: { gemini: {} }'

keys('of the gateway replace all others, in the header of the provider', async () => {
  const native = { path: '/v1beta/models/g:generateContent', fields: PLACEHOLDERS }
  const table: [entry: string, options: LlmRequestOptions, expected: Record<string, string>][] = [
    [OPENAI, { fields: PLACEHOLDERS }, { authorization: 'Bearer hush' }],
    [ANTHROPIC, { fields: PLACEHOLDERS }, { 'x-api-key': 'hush' }],
    [AZURE, { fields: PLACEHOLDERS }, { 'api-key': 'hush' }],
    [GEMINI, { fields: PLACEHOLDERS }, { authorization: 'Bearer hush' }],
    [GEMINI, native, { 'x-goog-api-key': 'hush' }],
    [OPENAI, {}, { authorization: 'Bearer hush' }],
  ]
  for (const [entry, options, expected] of table)
    assert.equal(keysOf(await seen({ entry, policies: ROUTE }, options)), expected, entry)
})

keys('may be sent in a configured header', async () => {
  const at = (name: string) =>
    `backendAuth: { key: { value: hush, location: { header: { name: ${name}, prefix: "" } } } }`
  assert.equal(keysOf(await seen({ policies: at('x-api-key') })), { 'x-api-key': 'hush' })
  assert.equal(keysOf(await seen({ policies: at('api-key') })), { 'api-key': 'hush' })
  // A key for a proxy in between does not replace the client's own.
  const other = await seen({ policies: at('x-between') }, { fields: { authorization: 'Bearer o' } })
  assert.equal([other.headers['x-between'], other.headers.authorization], ['hush', 'Bearer o'])
})

keys('in the query of a client are replaced', async () => {
  const path = '/v1beta/models/g:generateContent?alt=sse&key=placeholder'
  const request = await seen({ entry: GEMINI, policies: ROUTE }, { path })
  assert.is(request.target, '/v1beta/models/g:generateContent?alt=sse')
  const own = await seen({ entry: GEMINI }, { path })
  assert.is(own.target, path)
})

keys('of any other kind, and other credentials of a client, are removed', async () => {
  const fields = {
    'ocp-apim-subscription-key': 'mine',
    'proxy-authorization': 'Basic bWluZQ==',
    cookie: 's=mine',
    'x-amz-security-token': 'mine',
    'x-other': 'stays',
  }
  const query = 'api-key=mine&a=1&API_KEY=mine&access_token=mine&subscription-key=mine&k%65y=mine'
  const path = `/v1/chat/completions?${query}`
  const { headers, target } = await seen({ policies: ROUTE }, { path, fields })
  assert.is(target, '/v1/chat/completions?a=1')
  assert.not.match(JSON.stringify(headers), /mine|bWluZQ/)
  assert.equal([headers['x-other'], headers.authorization], ['stays', 'Bearer hush'])
  const own = await seen({}, { path, fields })
  assert.is(own.target, path)
  assert.is(own.headers.cookie, 's=mine')
})

keys('of a provider take precedence over those of its route', async () => {
  const entry = `${ANTHROPIC}, policies: { backendAuth: { key: own } }`
  assert.equal(keysOf(await seen({ entry, policies: ROUTE })), { 'x-api-key': 'own' })
})

keys('of a client are forwarded where the gateway has none', async () => {
  const fields = { authorization: 'Bearer sk-mine' }
  assert.equal(keysOf(await seen({ entry: OPENAI }, { fields })), fields)
  assert.equal(keysOf(await seen({ entry: AZURE }, { fields: { 'api-key': 'mine' } })), {
    'api-key': 'mine',
  })
  assert.equal(keysOf(await seen({ entry: ANTHROPIC }, { fields: { 'x-api-key': 'mine' } })), {
    'x-api-key': 'mine',
  })
  assert.equal(keysOf(await seen({ entry: ANTHROPIC }, { fields })), { 'x-api-key': 'sk-mine' })
  const login = { authorization: 'Bearer sk-ant-oat01-x' }
  assert.equal(keysOf(await seen({ entry: ANTHROPIC }, { fields: login })), login)
})

keys('for Anthropic are sent with its version and without the headers of a browser', async () => {
  const fields = { origin: 'http://localhost', 'sec-fetch-mode': 'cors', 'anthropic-beta': 'b' }
  const { headers } = await seen({ entry: ANTHROPIC, policies: ROUTE }, { fields })
  assert.equal(
    ['anthropic-version', 'anthropic-beta', 'origin', 'sec-fetch-mode'].map((one) => headers[one]),
    ['2023-06-01', 'b', undefined, undefined],
  )
  const own = { 'anthropic-version': '2099-01-01' }
  const other = await seen({ entry: ANTHROPIC, policies: ROUTE }, { fields: own })
  assert.is(other.headers['anthropic-version'], '2099-01-01')
})

keys('of models are configured in their params', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(1, 1))))
  const url = `baseUrl: "http://127.0.0.1:${backend.port}"`
  const gateway = await stage.gateway(
    `gateways: { default: { port: \${PORT}, address: 127.0.0.1 } }\n` +
      `llm: { gateways: [default], providers: [{ name: shared, provider: anthropic, params: { apiKey: k1, ${url} } }], ` +
      `models: [{ name: a, provider: { reference: shared } }, { name: b, provider: openAI, params: { apiKey: k2, ${url} } }] }`,
  )
  for (const model of ['a', 'b'])
    await post(gateway, chatAsking({ model }), { fields: PLACEHOLDERS })
  assert.equal(backend.requests.map(keysOf), [
    { 'x-api-key': 'k1' },
    { authorization: 'Bearer k2' },
  ])
})

keys('that a client sent to the gateway are not sent to a provider', async () => {
  const policies = 'apiKey: { mode: strict, keys: [{ key: mine }] }'
  const fields = { authorization: 'Bearer mine' }
  assert.equal(keysOf(await seen({ policies }, { fields })), {})
  const both = await seen({ policies: `${policies}, ${ROUTE}` }, { fields })
  assert.equal(keysOf(both), { authorization: 'Bearer hush' })
})

keys.run()
