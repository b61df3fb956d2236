// Token and request limits in front of LLM providers: which requests are admitted or refused, and by which bucket.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { KeyServer } from '../../support/key-server.ts'
import { answers, chatEventsOf, chatOf, LlmBackend } from '../../support/llm-backend.ts'
import {
  aiRoute,
  CHAT,
  chatAsking,
  estimateOf,
  remainingTokens,
  post,
  staged,
  tokens,
} from '../../support/llm/asking.ts'
import type { LlmResponse } from '../../support/llm/asking.ts'
import { Reloading } from '../../support/reloading.ts'
import { Signer } from '../../support/signer.ts'

const budgets = suite('LLM budgets')
const stage = new Stage()
budgets.after.each(() => stage.clear())

const BODY = chatAsking()
const ESTIMATE = estimateOf(BODY)

function limitsIn({ headers }: LlmResponse): (string | undefined)[] {
  return ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`])
}

function statuses(all: readonly LlmResponse[]): number[] {
  return all.map(({ status }) => status)
}

budgets('admit the request that overshoots, and refuse the next', async () => {
  const { gateway, backend } = await staged(
    stage,
    { policies: tokens(100) },
    answers.json(chatOf(60, 90)),
  )
  const first = await post(gateway)
  assert.equal([first.status, first.text], [200, JSON.stringify(chatOf(60, 90))])
  assert.equal(limitsIn(first).slice(0, 2), ['100', String(100 - ESTIMATE)])
  const second = await post(gateway, chatAsking({ stream: true }))
  assert.equal([second.status, second.text], [429, 'rate limit exceeded'])
  assert.is(second.headers['content-type'], 'text/plain')
  assert.equal(limitsIn(second).slice(0, 2), ['100', '0'])
  const reset = Number(second.headers['x-ratelimit-reset'])
  assert.ok(reset > 3590 && reset <= 3600)
  assert.is(second.headers['retry-after'], String(reset))
  assert.is(backend.requests.length, 1)
})

budgets(
  'send the remaining tokens with every response, after the estimate of the request',
  async () => {
    const { gateway } = await staged(stage, { policies: tokens(1000) }, answers.json(chatOf(7, 3)))
    assert.is((await post(gateway)).headers['x-ratelimit-remaining'], String(1000 - ESTIMATE))
    assert.is((await post(gateway)).headers['x-ratelimit-remaining'], String(990 - ESTIMATE))
    const capped = chatAsking({ max_tokens: 800 })
    const estimate = estimateOf(capped) + 100
    const third = await post(gateway, capped)
    assert.is(third.headers['x-ratelimit-remaining'], String(980 - estimate))
    assert.is(remainingTokens(gateway), 970)
  },
)

budgets('are not exceeded by many parallel requests', async () => {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  const { gateway, backend } = await staged(
    stage,
    { policies: tokens(3 * ESTIMATE) },
    answers.held(opened, answers.json(chatOf(1, 1))),
  )
  // No request is answered until all have been admitted or refused.
  const responses = Promise.all(Array.from({ length: 6 }, () => post(gateway)))
  await gateway.logged(3)
  await backend.completeRequest(3)
  assert.is(remainingTokens(gateway), 0)
  open()
  const codes = statuses(await responses)
  assert.equal(
    codes.toSorted((a, b) => a - b),
    [200, 200, 200, 429, 429, 429],
  )
  assert.is(backend.requests.length, 3)
  assert.is(remainingTokens(gateway), 3 * ESTIMATE - 6)
})

budgets(
  'are not exceeded by parallel requests that cost far more than their bodies show',
  async () => {
    let held = Promise.resolve()
    const answer = answers.json(chatOf(50, 5_000))
    const { gateway, backend } = await staged(
      stage,
      { policies: tokens(40_000) },
      (request, response) => answers.held(held, answer)(request, response),
    )
    for (let count = 0; count < 4; count++) assert.is((await post(gateway)).status, 200)
    assert.is(remainingTokens(gateway), 19_800)
    let open = (): void => {}
    held = new Promise((resolve) => (open = resolve))
    const responses = Promise.all(Array.from({ length: 60 }, () => post(gateway)))
    await gateway.logged(4 + 56)
    open()
    const admitted = statuses(await responses).filter((status) => status === 200)
    // Three leave 4,650 tokens, so the fourth exceeds the budget and passes.
    assert.is(admitted.length, 4)
    assert.is(backend.requests.length, 8)
  },
)

budgets('are full again in the next window', async () => {
  const { gateway } = await staged(
    stage,
    { policies: 'rateLimit: { local: [{ tokens: 20, unit: Seconds }] }' },
    answers.json(chatOf(500, 500)),
  )
  const last = performance.now() + 30_000
  let response = await post(gateway)
  assert.is(response.status, 200)
  // On a busy machine the second request may fall into the next window, and then overshoots it.
  while (response.status === 200 && performance.now() < last) response = await post(gateway)
  assert.is(response.status, 429)
  assert.is(response.headers['retry-after'], '1')
  while (response.status === 429 && performance.now() < last) response = await post(gateway)
  // A debt of any size ends with the window.
  assert.is(response.status, 200)
})

budgets('of requests are checked before the body arrives', async () => {
  const policies =
    'rateLimit: { local: [{ requests: 1, unit: Hours }, { tokens: 9, unit: Hours }] }'
  const { gateway, backend } = await staged(stage, { policies }, answers.json(chatOf(1, 1)))
  assert.is((await post(gateway)).status, 200)
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n`)
  assert.match(await client.until(/rate limit exceeded$/), ' 429 ')
  assert.is(backend.requests.length, 1)
  assert.is(remainingTokens(gateway, 1), 7)
})

budgets('must all admit a request, and a refusal by one charges none of the others', async () => {
  const local = '[{ tokens: 1000, unit: Hours }, { tokens: 20, unit: Hours }]'
  const { gateway } = await staged(
    stage,
    { policies: `rateLimit: { local: ${local} }` },
    answers.json(chatOf(40, 10)),
  )
  const first = await post(gateway)
  // The headers are those of the tightest limit.
  assert.is(first.headers['x-ratelimit-limit'], '20')
  assert.equal([remainingTokens(gateway, 0), remainingTokens(gateway, 1)], [950, 0])
  assert.is((await post(gateway)).status, 429)
  assert.equal([remainingTokens(gateway, 0), remainingTokens(gateway, 1)], [950, 0])
})

budgets('of a gateway are shared by all its routes', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(30, 20))))
  const ai = `{ ai: { name: p, provider: { openAI: {} }, hostOverride: "127.0.0.1:${backend.port}" } }`
  const route = (name: string) =>
    `{ name: ${name}, matches: [{ path: { pathPrefix: /${name} } }], backends: [${ai}] }`
  const gateway = await stage.gateway(`routes: [${route('a')}, ${route('b')}]
---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: p, namespace: default }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: Gateway, name: default }]
  traffic: { rateLimit: { local: [{ tokens: 60, unit: Hours }] } }
`)
  assert.is((await post(gateway, BODY, { path: '/a/chat/completions' })).status, 200)
  assert.is(remainingTokens(gateway), 10)
  assert.is((await post(gateway, BODY, { path: '/b/chat/completions' })).status, 200)
  assert.is((await post(gateway, BODY, { path: '/a/chat/completions' })).status, 429)
  assert.is((await post(gateway, BODY, { path: '/b/chat/completions' })).status, 429)
})

const signer = await Signer.make('ES256', 'k1')

budgets('are separate for each subject of a token', async () => {
  const keys = stage.add(await KeyServer.start(signer))
  const auth = `jwtAuth: { mode: strict, issuer: "https://i/", audiences: [a], jwks: "${keys.url}" }`
  const { gateway } = await staged(
    stage,
    { policies: `${auth}, ${tokens(20, 'key: jwt.sub')}` },
    answers.json(chatOf(20, 20)),
  )
  const ask = async (sub: string): Promise<number> => {
    const exp = Math.floor(Date.now() / 1000) + 300
    const token = signer.token({ iss: 'https://i/', aud: 'a', exp, sub })
    const fields = { authorization: `Bearer ${token}` }
    return (await post(gateway, BODY, { fields })).status
  }
  assert.equal([await ask('ann'), await ask('ann')], [200, 429])
  assert.equal([await ask('bob'), await ask('bob'), await ask('ann')], [200, 429, 429])
})

budgets('are separate for each API key', async () => {
  const keys =
    'apiKey: { mode: strict, keys: [{ key: k1, metadata: { user_id: u1 } }, { key: k2, metadata: { user_id: u2 } }, { key: k3, metadata: { user_id: u1 } }] }'
  const { gateway } = await staged(
    stage,
    { policies: `${keys}, ${tokens(20, 'key: apiKey.user_id')}` },
    answers.json(chatOf(20, 20)),
  )
  const ask = async (key: string): Promise<number> =>
    (await post(gateway, BODY, { fields: { authorization: `Bearer ${key}` } })).status
  assert.equal([await ask('k1'), await ask('k3'), await ask('k2')], [200, 429, 200])
})

budgets('are separate for each model, at any position in the body', async () => {
  const { gateway, backend } = await staged(
    stage,
    { policies: tokens(20, 'key: llm.requestModel') },
    answers.json(chatOf(20, 20)),
  )
  const ask = async (model: string): Promise<number> => {
    const client = await stage.client(gateway)
    const start = '{"messages":[{"role":"user","content":"hi"}],'
    const end = `"model":"${model}"}`
    const length = start.length + end.length
    client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`)
    await client.sendApart([Buffer.from(start), Buffer.from(end)])
    return Number((await client.until(/\r\n\r\n/)).split(' ')[1])
  }
  assert.equal([await ask('a'), await ask('a'), await ask('b')], [200, 429, 200])
  assert.is(backend.requests.length, 2)
  // Requests without a model share a bucket.
  assert.equal(
    statuses([await post(gateway, '{}'), await post(gateway, '{"model":null}')]),
    [200, 429],
  )
})

budgets('keep the connection of a refused request, or announce that it closes', async () => {
  const { gateway, backend } = await staged(
    stage,
    { policies: tokens(1) },
    answers.json(chatOf(5, 5)),
  )
  assert.is((await post(gateway)).status, 200)
  const client = await stage.client(gateway)
  const whole = `POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
  for (let times = 2; times > 0; times--) {
    client.send(whole)
    assert.not.match(await client.until(/rate limit exceeded$/), 'connection: close')
    client.take(client.text.length)
  }
  const long = chatAsking({ x: 'x'.repeat(300_000) })
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${long.length}\r\n\r\n`)
  await client.sendApart([Buffer.from(long.slice(0, 10)), Buffer.from(long.slice(10))])
  assert.match(await client.untilClosed(), 'connection: close')
  assert.is(client.end, 'closed')
  assert.is(backend.requests.length, 1)
})

budgets('count responses of the mock provider over HTTP/1', async () => {
  const route = `routes: [{ backends: [{ ai: { name: m, provider: { mock: {} } } }], policies: { ${tokens(30)} } }]`
  const gateway = await stage.gateway(route)
  const response = await post(gateway, chatAsking({ stream: true }))
  assert.match(response.text, '[DONE]')
  assert.not.match(response.text, '"usage":{')
  const used = 30 - remainingTokens(gateway)
  assert.ok(used > 0 && used < 30)
})

budgets('keep their counts when other parts of the configuration change', async () => {
  const events = answers.events(chatEventsOf(50, 50))
  const backend = stage.add(await LlmBackend.start(events))
  const text = aiRoute(backend, { policies: tokens(90) })
  const running = stage.add(await Reloading.start(text))
  assert.is((await post(running)).status, 200)
  const before = '{ name: new, matches: [{ path: { exact: /new } }], backends: [{ host: "a:1" }] }'
  await running.change(text.replace('[{ name: all', `[${before}, { name: all`))
  assert.is((await post(running)).status, 429)
  await running.change(text.replace('tokens: 90', 'tokens: 91'))
  assert.is((await post(running)).status, 200)
})

budgets('depend on the path at the provider, not on the client’s path', async () => {
  const answer = answers.json(chatOf(60, 90))
  const entry = 'name: p, provider: { openAI: {} }, pathOverride: /v1/chat/completions'
  for (const path of ['/v1/messages/count_tokens', '/v1/models/x:countTokens', '/v1/models']) {
    const written = { entry, policies: tokens(100) }
    const { gateway, backend } = await staged(stage, written, answer)
    assert.equal(statuses([await post(gateway, BODY, { path })]), [200])
    assert.is(remainingTokens(gateway), 0, path)
    assert.equal(statuses([await post(gateway, BODY, { path })]), [429])
    assert.is(backend.requests.length, 1)
    // The gateway also asks for the usage of streams there.
    const other = await staged(stage, written, answers.events(chatEventsOf(60, 9)))
    await post(other.gateway, chatAsking({ stream: true }), { path })
    assert.match(other.backend.requests[0]!.text, 'include_usage')
    assert.is(remainingTokens(other.gateway), 31)
  }
})

budgets('are charged the reported usage, even if the format is free', async () => {
  for (const path of ['/v1/messages/count_tokens', '/v1/models/x:countTokens', '/v1/models']) {
    const { gateway, backend } = await staged(
      stage,
      { policies: tokens(100) },
      answers.json(chatOf(20, 10)),
    )
    await post(gateway, BODY, { path })
    assert.is(remainingTokens(gateway), 70, path)
    backend.answer(answers.json({ input_tokens: 7, totalTokens: 7 }))
    assert.is((await post(gateway, BODY, { path })).status, 200)
    assert.is(remainingTokens(gateway), 70, path)
  }
})

budgets.run()
