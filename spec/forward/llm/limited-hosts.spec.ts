// Plain HTTP backends with token limits: requests that look like LLM requests count, all others are not changed.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { routeTo, Stage } from '../../support/gateway.ts'
import { answers, chatEventsOf, chatOf, LlmBackend } from '../../support/llm-backend.ts'
import { chatAsking, remainingTokens, post, tokens } from '../../support/llm/asking.ts'

const hosts = suite('token limits before plain hosts')
const stage = new Stage()
hosts.after.each(() => stage.clear())

const BUDGET = 1000

hosts('count a chat, and ask for the usage of its stream', async () => {
  const events = chatEventsOf(30, 12)
  const backend = stage.add(await LlmBackend.start(answers.events(events)))
  const gateway = await stage.gateway(routeTo(backend, tokens(BUDGET)))
  const response = await post(gateway, chatAsking({ stream: true }))
  assert.is(response.text, events.filter((event) => !event.includes('usage')).join(''))
  assert.match(backend.requests[0]!.text, '"include_usage":true')
  assert.is(remainingTokens(gateway), BUDGET - 42)
  const [line] = await gateway.logged(1)
  assert.is(line!['endpoint'], `127.0.0.1:${backend.port}`)
  assert.is(line!['gen_ai.usage.input_tokens'], 30)
})

hosts('keep the path, the query and the fields of the client', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(1, 1))))
  const gateway = await stage.gateway(routeTo(backend, tokens(BUDGET)))
  const fields = { authorization: 'Bearer own', 'x-api-key': 'mine', origin: 'http://o' }
  await post(gateway, chatAsking(), { path: '/x/v1/messages?beta=true', fields })
  const [seen] = backend.requests
  assert.is(seen!.target, '/x/v1/messages?beta=true')
  assert.equal(
    ['authorization', 'x-api-key', 'origin', 'anthropic-version'].map(
      (name) => seen!.headers[name],
    ),
    ['Bearer own', 'mine', 'http://o', undefined],
  )
})

hosts('count every request that reports usage on a route with its own limit', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(30, 12))))
  const gateway = await stage.gateway(routeTo(backend, tokens(BUDGET)))
  await post(gateway, chatAsking(), { path: '/ask' })
  assert.is(remainingTokens(gateway), BUDGET - 42)
  await post(gateway, '', { path: '/ask', method: 'GET' })
  await post(gateway, 'a=b', {
    path: '/ask',
    fields: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  // The response of any request may report usage.
  assert.is(remainingTokens(gateway), BUDGET - 84)
})

hosts('count every method except read-only methods', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(30, 12))))
  const gateway = await stage.gateway(routeTo(backend, tokens(BUDGET)))
  for (const method of ['PUT', 'PATCH', 'DELETE']) await post(gateway, chatAsking(), { method })
  assert.is(remainingTokens(gateway), BUDGET - 3 * 42)
  await post(gateway, '', { method: 'GET' })
  const client = await stage.client(gateway)
  for (const method of ['DELETE', 'OPTIONS']) {
    client.send(`${method} /v1/chat/completions HTTP/1.1\r\nhost: a\r\n\r\n`)
    assert.match(await client.until(/\}\}$/), ' 200 ')
  }
  assert.is(remainingTokens(gateway), BUDGET - 3 * 42)
})

hosts(
  'refuse no body of an ordinary API, and answer its clients with plain text errors',
  async () => {
    const backend = stage.add(await LlmBackend.start(answers.json({ ok: true })))
    const policies = tokens(BUDGET, 'key: llm.requestModel')
    const gateway = await stage.gateway(routeTo(backend, policies))
    const bodies = ['[1,2]', '"text"', '{"model":{"id":3}}', '{"Model":"T"}', '{"a":', 'a=1', '']
    for (const body of bodies) {
      assert.is((await post(gateway, body, { path: '/orders' })).status, 200, body)
      assert.is(backend.requests.at(-1)!.text, body)
    }
    const large = `{"a":"${'x'.repeat(5 << 20)}"}`
    assert.is((await post(gateway, large, { path: '/orders' })).status, 200)
    assert.is(backend.requests.at(-1)!.body.length, large.length)
    backend.answer(answers.json('x'.repeat(400), { 'content-type': 'application/pdf' }))
    await post(gateway, 'a,b', { path: '/orders', fields: { 'content-type': 'text/csv' } })
    assert.is(remainingTokens(gateway), BUDGET)
    await backend.close()
    const response = await post(gateway, '{}', { path: '/orders' })
    assert.equal([response.status, response.headers['content-type']], [503, 'text/plain'])
    const chat = await post(gateway)
    assert.match(chat.headers['content-type']!, 'application/json')
  },
)

const OF_ALL = `---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: p, namespace: default }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: Gateway, name: default }]
  traffic: { rateLimit: { local: [{ tokens: 50, unit: Hours }] } }
`

hosts('do not limit plain APIs on a gateway with a token limit', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(30, 30))))
  const gateway = await stage.gateway(routeTo(backend) + OF_ALL)
  const broken = '{"name":"x","name":'
  for (let times = 3; times > 0; times--) {
    const response = await post(gateway, broken, { path: '/orders' })
    assert.is(response.status, 200)
    assert.is(response.headers['x-ratelimit-limit'], undefined)
  }
  assert.is(backend.requests[0]!.text, broken)
  assert.is(remainingTokens(gateway), 50)
  const [line] = await gateway.logged(1)
  assert.is(line!['protocol'], 'http')
  assert.is((await post(gateway)).status, 200)
  assert.is((await post(gateway)).status, 429)
  assert.is((await post(gateway, '{}', { path: '/orders' })).status, 200)
  for (const path of ['/v1/Chat/Completions', '/v1/chat/x/../completions', '/v1/messages;a=1'])
    assert.is((await post(gateway, chatAsking(), { path })).status, 429, path)
})

hosts('forward a compressed body unchanged, and count its response', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(30, 12), {}, 'gzip')))
  const gateway = await stage.gateway(routeTo(backend, tokens(BUDGET)))
  const body = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0])
  const response = await post(gateway, body, { fields: { 'content-encoding': 'gzip' } })
  assert.is(response.status, 200)
  assert.ok(backend.requests[0]!.body.equals(body))
  await gateway.logged(1)
  assert.is(remainingTokens(gateway), BUDGET - 42)
})

hosts.run()
