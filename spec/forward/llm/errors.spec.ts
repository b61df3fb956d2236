// Errors of the gateway for LLM requests, in the format of the client's SDK.

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
  'a text': 'hello',
  'a model twice': '{"model":"m","model":"n"}',
  'a model in another spelling': '{"model":"m","Model":"n"}',
  'a model that is not a string': '{"model":5}',
  'a truncated object': '{"model":"m"',
}

errors('have the format of OpenAI for its clients', async () => {
  const { gateway, backend } = await staged(stage, {}, OK)
  for (const [what, body] of Object.entries(BROKEN)) {
    const response = await post(gateway, body)
    assert.equal(
      [response.status, response.headers['content-type']],
      [400, 'application/json'],
      what,
    )
    const { error } = JSON.parse(response.text) as { error: Record<string, unknown> }
    assert.match(String(error['message']), 'failed to process LLM request: ')
    assert.equal([error['type'], error['code']], ['invalid_request_error', 'invalid_request_body'])
  }
  assert.is(backend.requests.filter(({ state }) => state === 'whole').length, 0)
})

errors('have the format of Anthropic for its clients', async () => {
  const { gateway } = await staged(stage, {}, OK)
  for (const [what, body] of Object.entries(BROKEN)) {
    const response = await post(gateway, body, { path: '/v1/messages' })
    assert.is(response.status, 400, what)
    const { type, error } = JSON.parse(response.text) as Record<string, Record<string, unknown>>
    assert.equal([type, error!['type']], ['error', 'invalid_request_error'])
  }
})

errors('name the limit when the model is not found in a large body', async () => {
  const backend = stage.add(await LlmBackend.start(OK))
  const aliases = 'ai: { modelAliases: { a: b } }'
  const text = 'config: { llm: { maxHeldBytes: 4096 } }\n' + aiRoute(backend, { policies: aliases })
  const gateway = await stage.gateway(text)
  const body = JSON.stringify({ x: 'x'.repeat(300_000), model: 'm' })
  const types = { [CHAT]: 'invalid_request_error', '/v1/messages': 'request_too_large' }
  for (const [path, type] of Object.entries(types)) {
    const response = await post(gateway, body, { path })
    assert.is(response.status, 413)
    const { error } = JSON.parse(response.text) as { error: Record<string, unknown> }
    assert.is(error['type'], type)
    assert.match(String(error['message']), 'config.llm.maxHeldBytes')
  }
  assert.is(backend.requests.length, 0)
  const early = JSON.stringify({ model: 'm', x: 'x'.repeat(1_200_000) })
  assert.is((await post(gateway, early)).status, 200)
})

errors('reach a client that is still sending, and close its connection', async () => {
  const { gateway } = await staged(stage, {}, OK)
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n{"model":"m",`)
  client.send(`}${'x'.repeat(500_000)}`)
  assert.match(await client.until(/\}\}$/), 'connection: close')
  client.destroy()
  // The rest of the body is read and discarded, so that its end is noticed.
  await deadline(gateway.stop(), 1500, 'the gateway to have no connection left')
})

errors('name the reason when a provider cannot be reached', async () => {
  const { gateway, backend } = await staged(stage, {}, OK)
  await backend.close()
  const response = await post(gateway)
  assert.is(response.status, 503)
  const { error } = JSON.parse(response.text) as { error: Record<string, unknown> }
  assert.equal([error['type'], error['code']], ['server_error', 'backend_connect'])
  const other = await post(gateway, chatAsking(), { path: '/v1/messages' })
  const said = JSON.parse(other.text) as { error: Record<string, unknown> }
  assert.equal([other.status, said.error['type']], [503, 'api_error'])
})

errors('of a provider are forwarded unchanged', async () => {
  const { gateway } = await staged(stage, {}, (_request, response) => {
    const fields = { 'content-type': 'application/json', 'x-request-id': 'r1', 'retry-after': '3' }
    response.writeHead(429, fields).end('{"error":{"message":"slow down"}}')
  })
  const response = await post(gateway, chatAsking({ stream: true }))
  assert.equal([response.status, response.text], [429, '{"error":{"message":"slow down"}}'])
  assert.equal([response.headers['x-request-id'], response.headers['retry-after']], ['r1', '3'])
})

errors.run()
