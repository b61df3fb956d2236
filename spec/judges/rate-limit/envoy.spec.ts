// The Envoy project's rate limit service with Redis, called by complete gateways, to confirm the double. It runs if Go is
// installed and its modules can be fetched; otherwise a line reports the skip and its reason.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../support/deadline.ts'
import { routeTo, Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { until } from '../../support/idp/until.ts'
import { estimateOf } from '../../support/llm/asking.ts'
import { RealService } from '../../support/rls/real-service.ts'
import { findRls } from '../../support/rls/rls-files.ts'
import { reportSkip } from '../../support/report-skip.ts'

const judge = suite('Envoy rate limit service')
const stage = new Stage()
judge.after.each(() => stage.clear())

const WAIT_MS = 30_000

/** Windows of a year, so that none ends during a spec, except the one of a second. */
const RULES = `
  - { key: user, rate_limit: { unit: year, requests_per_unit: 3 } }
  - { key: quick, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: tokens, rate_limit: { unit: year, requests_per_unit: 1000 } }
  - { key: cost, rate_limit: { unit: year, requests_per_unit: 1000 } }
  - { key: shadow, shadow_mode: true, rate_limit: { unit: year, requests_per_unit: 1 } }`

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

async function ask(gateway: RunningGateway, user: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
    ...init,
    headers: { 'x-user': user, connection: 'close', 'content-type': 'application/json' },
    signal: AbortSignal.timeout(WAIT_MS),
  })
  const text = await deadline(answer.text(), WAIT_MS, 'an answer')
  return { status: answer.status, headers: answer.headers, text }
}

function chat(gateway: RunningGateway, user: string, stream = false): Promise<Answer> {
  return ask(gateway, user, { method: 'POST', body: chatBody(stream) })
}

function chatBody(stream: boolean): string {
  const messages = [{ role: 'user', content: 'tell me more' }]
  return JSON.stringify({ model: 'm', messages, stream })
}

const USER = 'request.headers["x-user"]'

/** `remoteRateLimit` with one or more descriptors. */
function limit(service: RealService, descriptors: string, rest = ''): string {
  return (
    `remoteRateLimit: { host: "127.0.0.1:${service.port}", domain: ${service.domain}, timeout: 5s, ` +
    `descriptors: [${descriptors}]${rest} }`
  )
}

function by(key: string, rest = ''): string {
  return `{ entries: [{ key: ${key}, value: '${USER}' }]${rest} }`
}

async function plain(policies: string) {
  const backend = await stage.backend([
    { wait: /\r\n\r\n/ },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' },
    { again: true },
  ])
  return { backend, gateway: await stage.gateway(routeTo(backend, policies)) }
}

function llm(policies: string): Promise<RunningGateway> {
  return stage.gateway(
    `routes: [{ name: chat, backends: [{ ai: { name: mock, provider: { mock: {} } } }], policies: { ${policies} } }]\n`,
  )
}

type Running = () => Promise<RealService>

function addRequests(running: Running): void {
  judge('counts requests, and refuses those over the limit', async () => {
    const service = await running()
    const { backend, gateway } = await plain(limit(service, by('user')))
    for (const left of ['2', '1', '0']) {
      const { status, headers } = await ask(gateway, 'ada')
      assert.is(status, 200)
      assert.is(headers.get('x-ratelimit-limit'), '3')
      assert.is(headers.get('x-ratelimit-remaining'), left)
      assert.is(headers.get('ratelimit-remaining'), left)
    }
    const before = backend.received
    const { status, headers, text } = await ask(gateway, 'ada')
    assert.equal([status, text], [429, 'rate limit exceeded'])
    const reset = Number(headers.get('x-ratelimit-reset'))
    assert.ok(reset > 0 && reset <= 31_536_000)
    assert.is(headers.get('retry-after'), headers.get('ratelimit-reset'))
    assert.is(backend.received, before)
    assert.is((await ask(gateway, 'bob')).status, 200)
  })

  judge('shares one budget between two gateways', async () => {
    const service = await running()
    const { gateway: one } = await plain(limit(service, by('user')))
    const { gateway: other } = await plain(limit(service, by('user')))
    const statuses: number[] = []
    for (const gateway of [one, other, one, other, one])
      statuses.push((await ask(gateway, 'two')).status)
    assert.equal(statuses, [200, 200, 200, 429, 429])
  })

  judge('allows requests again in the next window', async () => {
    const { gateway } = await plain(limit(await running(), by('quick')))
    const status = async (): Promise<number> => (await ask(gateway, 'ada')).status
    await until(status, (found) => found === 429, WAIT_MS)
    await until(status, (found) => found === 200, WAIT_MS)
  })
}

function addOthers(running: Running): void {
  judge('accepts costs, limit overrides and values in UTF-8', async () => {
    const service = await running()
    const override = `{"unit": "year", "requestsPerUnit": 5}`
    const { gateway } = await plain(
      limit(
        service,
        `${by('cost', ", cost: '7'")}, ${by('other', `, limitOverride: '${override}'`)}`,
      ),
    )
    const { headers } = await ask(gateway, Buffer.from('zoë').toString('latin1'))
    assert.is(headers.get('x-ratelimit-limit'), '5')
    assert.is(headers.get('x-ratelimit-remaining'), '4')
    assert.is(await service.remaining('cost', 'zoë'), 993)
  })

  judge('refuses no request in shadow mode', async () => {
    const { gateway } = await plain(limit(await running(), by('shadow')))
    for (let count = 0; count < 3; count++) assert.is((await ask(gateway, 'ada')).status, 200)
  })

  judge(
    'fails or allows requests while it is down, and keeps its counts after a restart',
    async () => {
      const service = await running()
      const { gateway: closed } = await plain(limit(service, by('user')))
      const { gateway: open } = await plain(limit(service, by('user'), ', failureMode: failOpen'))
      assert.is((await ask(closed, 'cy')).headers.get('x-ratelimit-remaining'), '2')
      assert.is((await ask(open, 'cy')).headers.get('x-ratelimit-remaining'), '1')
      await service.halt()
      const { status, text } = await ask(closed, 'cy')
      assert.equal([status, text], [500, 'rate limit failed'])
      assert.equal(await ask(open, 'cy').then((answer) => answer.status), 200)
      await service.resume()
      const back = await until(
        () => ask(closed, 'cy'),
        ({ status: found }) => found !== 500,
        WAIT_MS,
      )
      assert.is(back.headers.get('x-ratelimit-remaining'), '0')
      const refused = await until(
        () => ask(open, 'cy'),
        ({ status: found }) => found !== 200,
        WAIT_MS,
      )
      assert.is(refused.status, 429)
    },
  )
}

function addTokens(running: Running): void {
  judge('counts the estimate, and the cost of a response beyond it after its end', async () => {
    const service = await running()
    const gateway = await llm(limit(service, by('tokens', ', type: tokens')))
    const { status, text, headers } = await chat(gateway, 'ada')
    assert.is(status, 200)
    assert.is(headers.get('x-ratelimit-remaining'), '999')
    const { usage } = JSON.parse(text) as { usage: { total_tokens: number } }
    // The protocol has no refund: a request that costs less stays charged with its estimate.
    const left = 1_000 - Math.max(estimateOf(chatBody(false)), usage.total_tokens)
    await until(
      () => service.remaining('tokens', 'ada'),
      (found) => found === left,
      WAIT_MS,
    )
  })

  judge(
    'refuses all requests after the one that exceeded the budget, on every gateway',
    async () => {
      const service = await running()
      const override = `, limitOverride: '{"unit": "year", "requestsPerUnit": 5}'`
      const policies = limit(service, by('few', `, type: tokens${override}`))
      const [one, other] = [await llm(policies), await llm(policies)]
      assert.is((await chat(one, 'ada')).status, 200)
      // The service gets the cost of a response a moment after the client gets its end.
      const refused = await until(
        () => chat(other, 'ada'),
        ({ status }) => status === 429,
        WAIT_MS,
      )
      assert.is(refused.text, 'rate limit exceeded')
      const streamed = await chat(one, 'ada', true)
      assert.equal([streamed.status, streamed.text], [429, 'rate limit exceeded'])
      assert.is(streamed.headers.get('x-ratelimit-remaining'), '0')
      assert.is((await chat(other, 'bob', true)).status, 200)
    },
  )

  judge('counts the tokens of a stream by a cost expression', async () => {
    const service = await running()
    const cost = `, type: tokens, cost: 'llm.inputTokens * 2 + llm.outputTokens * 10'`
    const gateway = await llm(limit(service, by('cost', cost)))
    const { text } = await chat(gateway, 'eve')
    const { usage } = JSON.parse(text) as {
      usage: { prompt_tokens: number; completion_tokens: number }
    }
    const price = usage.prompt_tokens * 2 + usage.completion_tokens * 10
    const has = (left: number): Promise<number> =>
      until(
        () => service.remaining('cost', 'eve'),
        (found) => found === left,
        WAIT_MS,
      )
    await has(1_000 - price)
    assert.is((await chat(gateway, 'eve', true)).status, 200)
    await has(1_000 - 2 * price)
  })
}

/** Awaited in each test, so that each fails with the reason if the start fails. */
function runningFor(program: string): Running {
  let starting: Promise<RealService> | undefined
  judge.after(async () => {
    const running = await starting?.catch(() => null)
    await running?.stop()
  })
  return () => (starting ??= started(program))
}

async function started(program: string): Promise<RealService> {
  const service = await RealService.start(program, 'judge', RULES)
  process.stdout.write(`Envoy rate limit service: run with ${service.redis.name}\n`)
  return service
}

const found = await findRls()
if (found.kind === 'found') {
  const running = runningFor(found.program)
  addRequests(running)
  addOthers(running)
  addTokens(running)
} else reportSkip('the rate limit service of Envoy', found.why)

judge.run()
