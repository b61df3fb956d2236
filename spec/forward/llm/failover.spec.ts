// Providers asked in turn: by groups, by weight, and only while nothing has reached the client.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { orderCandidates, ProviderHealth } from '../../../lib/forward/llm/provider-catalogue.ts'
import type {
  ProviderCandidate,
  CandidateLevel,
} from '../../../lib/forward/llm/provider-catalogue.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { answers, chatOf, LlmBackend, LlmStream } from '../../support/llm-backend.ts'
import type { LlmAnswer } from '../../support/llm-backend.ts'
import { CHAT, chatAsking, remainingTokens, post, tokens } from '../../support/llm/asking.ts'

const failover = suite('failover of providers')
const stage = new Stage()
failover.after.each(() => stage.clear())

interface Pair {
  readonly first: LlmBackend
  readonly second: LlmBackend
  readonly gateway: RunningGateway
}

const SECOND = answers.json({ ...chatOf(5, 5), model: 'second' })

/** Two groups of one provider each. */
async function pair(first: LlmAnswer, policies = ''): Promise<Pair> {
  const one = stage.add(await LlmBackend.start(first))
  const two = stage.add(await LlmBackend.start(SECOND))
  const group = (name: string, { port }: LlmBackend, key: string) =>
    `{ providers: [{ name: ${name}, provider: { openAI: { model: ${name}-model } }, hostOverride: "127.0.0.1:${port}", policies: { backendAuth: { key: ${key} } } }] }`
  const groups = `[${group('one', one, 'k1')}, ${group('two', two, 'k2')}]`
  const gateway = await stage.gateway(
    `routes: [{ backends: [{ ai: { groups: ${groups} } }], policies: { ${policies} } }]`,
  )
  return { first: one, second: two, gateway }
}

failover('calls the next group when one fails, with its own key and model', async () => {
  const failures = [
    ...[408, 429, 500, 502, 503, 504, 529].map((status) => answers.fails(status)),
    answers.hangsUp(),
  ]
  for (const answer of failures) {
    const { gateway, first, second } = await pair(answer, tokens(1000))
    const body = chatAsking({ stream: false })
    const response = await post(gateway, body)
    assert.is(response.status, 200)
    assert.match(response.text, '"second"')
    const [one] = first.requests
    const [two] = second.requests
    assert.is(one!.headers.authorization, 'Bearer k1')
    assert.is(two!.headers.authorization, 'Bearer k2')
    assert.is(one!.text, body.replace('"m"', '"one-model"'))
    assert.is(two!.text, body.replace('"m"', '"two-model"'))
    assert.is(two!.headers['content-length'], String(two!.text.length))
    assert.is(remainingTokens(gateway), 990)
    const [line] = await gateway.logged(1)
    assert.is(line!['gen_ai.provider.name'], 'two')
    assert.is(line!['endpoint'], `127.0.0.1:${second.port}`)
  }
})

failover('calls the next group when one cannot be reached', async () => {
  const { gateway, first, second } = await pair(answers.fails(500))
  await first.close()
  assert.is((await post(gateway)).status, 200)
  assert.is(second.requests.length, 1)
})

failover('forwards a response whose status is not a failure of the provider', async () => {
  for (const status of [400, 405, 409, 422]) {
    const { gateway, second } = await pair(answers.fails(status))
    const response = await post(gateway)
    assert.is(response.status, status)
    assert.match(response.text, `the spec says ${status}`)
    assert.is(second.requests.length, 0)
  }
})

failover('keeps a failed provider in cooldown for as long as its retry-after says', async () => {
  const { gateway, first, second } = await pair(answers.fails(429, { 'retry-after': '30' }))
  for (let times = 3; times > 0; times--) assert.is((await post(gateway)).status, 200)
  assert.equal([first.requests.length, second.requests.length], [1, 3])
  // With both in cooldown, the one whose cooldown ends first is called.
  second.answer(answers.fails(500))
  const response = await post(gateway)
  assert.is(response.status, 429)
  assert.equal([first.requests.length, second.requests.length], [2, 4])
})

failover('forwards the last failure when all providers failed', async () => {
  const { gateway, second } = await pair(answers.fails(500))
  second.answer(answers.fails(503, { 'retry-after': '7' }))
  const response = await post(gateway)
  assert.equal([response.status, response.headers['retry-after']], [503, '7'])
})

failover('does not retry after the first byte: a cut stream stays cut', async () => {
  const stream = new LlmStream()
  const { gateway, second } = await pair(stream.answer)
  const client = await stage.client(gateway)
  const body = chatAsking({ stream: true })
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  await stream.opened()
  await client.until(/200 OK/)
  stream.cut()
  assert.not.match(await client.untilClosed(), /\r\n0\r\n/)
  assert.is(second.requests.length, 0)
})

failover('does not send a body again that is too long to keep', async () => {
  const { gateway, second } = await pair(answers.fails(500))
  const long = chatAsking({ x: 'x'.repeat(4_300_000) })
  const response = await post(gateway, long)
  assert.is(response.status, 500)
  assert.is(second.requests.length, 0)
  // The first provider is in cooldown: the second one gets the request.
  assert.is((await post(gateway, long)).status, 200)
  assert.is(second.requests[0]!.json['x'], 'x'.repeat(4_300_000))
})

failover('sends the whole body again, though it arrived in pieces', async () => {
  const { gateway, second } = await pair(answers.fails(500))
  const body = chatAsking({ x: 'x'.repeat(200_000) })
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`)
  const parts = [0, 50_000, 100_000, 150_000].map((at) => Buffer.from(body.slice(at, at + 50_000)))
  await client.sendApart([...parts, Buffer.from(body.slice(200_000))])
  assert.match(await client.until(/"usage"/), ' 200 ')
  assert.is(second.requests[0]!.text.trimEnd(), body.replace('"m"', '"two-model"'))
})

failover('skips a provider that does not support the format', async () => {
  const one = stage.add(await LlmBackend.start(answers.fails(500)))
  const two = stage.add(await LlmBackend.start(SECOND))
  const custom = `{ name: one, provider: { custom: { formats: [{ type: embeddings }] } }, hostOverride: "127.0.0.1:${one.port}" }`
  const open = `{ name: two, provider: { openAI: {} }, hostOverride: "127.0.0.1:${two.port}" }`
  const gateway = await stage.gateway(
    `routes: [{ backends: [{ ai: { groups: [{ providers: [${custom}] }, { providers: [${open}] }] } }] }]`,
  )
  assert.is((await post(gateway)).status, 200)
  assert.is(one.requests.length, 0)
})

function candidates(weights: readonly number[], now = () => 0): CandidateLevel {
  return weights.map((weight, at) => {
    const candidate = { entry: { name: String(at) }, health: new ProviderHealth(now) }
    return { candidate: candidate as unknown as ProviderCandidate, weight }
  })
}

const namesOf = (order: readonly ProviderCandidate[]): string =>
  order.map(({ entry }) => entry.name).join('')

failover('divides a level by weight', () => {
  const level = candidates([3, 1, 0])
  const counts = { first: 0, never: 0 }
  for (let at = 0; at < 400; at++) {
    // Each quarter of the range is equally likely.
    const names = namesOf(orderCandidates([level], () => ((at * 7919) % 400) / 400))
    if (names.startsWith('0')) counts.first++
    if (names.includes('2')) counts.never++
  }
  assert.equal(counts, { first: 300, never: 0 })
})

failover('puts candidates in cooldown last, the shortest cooldown first', () => {
  let now = 0
  const levels = ['a', 'b', 'c'].map(() => candidates([1], () => now))
  levels.forEach(([one], at) => Object.assign(one!.candidate.entry, { name: String(at) }))
  levels[0]![0]!.candidate.health.failed(30_000)
  levels[1]![0]!.candidate.health.failed(0)
  assert.is(namesOf(orderCandidates(levels)), '210')
  now = 1_000
  assert.is(namesOf(orderCandidates(levels)), '120')
  now = 30_000
  assert.is(namesOf(orderCandidates(levels)), '012')
})

failover('doubles the cooldown with every failure, and ends it after a success', () => {
  let now = 0
  const health = new ProviderHealth(() => now)
  const rests: number[] = []
  for (let times = 8; times > 0; times--) {
    health.failed(0)
    rests.push(health.cooldownLeft)
  }
  assert.equal(rests, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  now = 59_999
  assert.is(health.cooldownLeft, 1)
  health.failed(3_600_000)
  assert.is(health.cooldownLeft, 60_000)
  health.succeeded()
  assert.is(health.cooldownLeft, 0)
})

failover.run()
