// What the gateway itself has to say of an LLM request, in the words the client's SDK knows.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import { answers, chatOf, LlmBackend } from '../../support/llm-backend.ts'
import { aiRoute, CHAT, chatAsking, post, staged } from '../../support/llm/asking.ts'

const errors = suite('errors of LLM requests')
const stage = new Stage()
errors.after.each(() => stage.clear())

const OK = answers.json(chatOf(1, 1))

const BROKEN: Record<string, string> = {
  'broken JSON': '{"model":"m",}',
  'no JSON': 'hello',
  'a model twice': '{"model":"m","model":"n"}',
  'a model in another spelling': '{"model":"m","Model":"n"}',
  'a model that is no name': '{"model":5}',
  'an end in the middle': '{"model":"m"',
}

errors('are told to OpenAI clients', async () => {
  const { gateway, backend } = await staged(stage, {}, OK)
  for (const [what, body] of Object.entries(BROKEN)) {
    const told = await post(gateway, body)
    assert.equal([told.status, told.headers['content-type']], [400, 'application/json'], what)
    const { error } = JSON.parse(told.text) as { error: Record<string, unknown> }
    assert.match(String(error['message']), 'failed to process LLM request: ')
    assert.equal([error['type'], error['code']], ['invalid_request_error', 'invalid_request_body'])
  }
  assert.is(backend.requests.filter(({ state }) => state === 'whole').length, 0)
})

errors('are told to Anthropic clients', async () => {
  const { gateway } = await staged(stage, {}, OK)
  for (const [what, body] of Object.entries(BROKEN)) {
    const told = await post(gateway, body, { path: '/v1/messages' })
    assert.is(told.status, 400, what)
    const { type, error } = JSON.parse(told.text) as Record<string, Record<string, unknown>>
    assert.equal([type, error!['type']], ['error', 'invalid_request_error'])
  }
})

errors('tell of a body too large to look for its model', async () => {
  const backend = stage.add(await LlmBackend.start(OK))
  const aliases = 'ai: { modelAliases: { a: b } }'
  const text = 'config: { llm: { maxHeldBytes: 4096 } }\n' + aiRoute(backend, { policies: aliases })
  const gateway = await stage.gateway(text)
  const body = JSON.stringify({ x: 'x'.repeat(300_000), model: 'm' })
  const types = { [CHAT]: 'invalid_request_error', '/v1/messages': 'request_too_large' }
  for (const [path, type] of Object.entries(types)) {
    const told = await post(gateway, body, { path })
    assert.is(told.status, 413)
    const { error } = JSON.parse(told.text) as { error: Record<string, unknown> }
    assert.is(error['type'], type)
    assert.match(String(error['message']), 'config.llm.maxHeldBytes')
  }
  assert.is(backend.requests.length, 0)
  const early = JSON.stringify({ model: 'm', x: 'x'.repeat(1_200_000) })
  assert.is((await post(gateway, early)).status, 200)
})

errors('are heard by clients that still send, and let them go at once', async () => {
  const { gateway } = await staged(stage, {}, OK)
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n{"model":"m",`)
  client.send(`}${'x'.repeat(500_000)}`)
  assert.match(await client.until(/\}\}$/), 'connection: close')
  client.destroy()
  // What it sent is read and dropped, so that its end is seen.
  await deadline(gateway.stop(), 1500, 'the gateway to have no connection left')
})

errors('tell of providers that are not there', async () => {
  const { gateway, backend } = await staged(stage, {}, OK)
  await backend.close()
  const told = await post(gateway)
  assert.is(told.status, 503)
  const { error } = JSON.parse(told.text) as { error: Record<string, unknown> }
  assert.equal([error['type'], error['code']], ['server_error', 'backend_connect'])
  const other = await post(gateway, chatAsking(), { path: '/v1/messages' })
  const said = JSON.parse(other.text) as { error: Record<string, unknown> }
  assert.equal([other.status, said.error['type']], [503, 'api_error'])
})

errors('of a provider pass as they are', async () => {
  const { gateway } = await staged(stage, {}, (_request, response) => {
    const fields = { 'content-type': 'application/json', 'x-request-id': 'r1', 'retry-after': '3' }
    response.writeHead(429, fields).end('{"error":{"message":"slow down"}}')
  })
  const told = await post(gateway, chatAsking({ stream: true }))
  assert.equal([told.status, told.text], [429, '{"error":{"message":"slow down"}}'])
  assert.equal([told.headers['x-request-id'], told.headers['retry-after']], ['r1', '3'])
})

errors.run()
