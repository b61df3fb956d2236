// remoteRateLimit of requests: the queries to the service, and the effect of its responses.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../support/deadline.ts'
import { RlsDouble } from '../../support/rls/double.ts'
import type { RlsBehavior } from '../../support/rls/double.ts'
import { exchangeFor, Limited, of, REFUSED } from './stage.ts'
import { until } from '../../support/until.ts'

const requests = suite('remote limits of requests')

const closing: (() => void)[] = []
requests.after.each(() => {
  for (const close of closing.splice(0)) close()
})

async function double(manners: Partial<RlsBehavior> = {}): Promise<RlsDouble> {
  const rls = await RlsDouble.start({
    rules: { user: { requests_per_unit: 2, unit: 'MINUTE' } },
    ...manners,
  })
  closing.push(() => rls.stop())
  return rls
}

function limited({ endpoint }: RlsDouble, fields: string): Limited {
  const one = new Limited(endpoint, fields)
  closing.unshift(() => one.close())
  return one
}

const BY_USER = 'descriptors: [{ entries: [{ key: user, value: jwt.sub }] }]'

requests(
  'pass until the budget of their key is exhausted, and again in the next window',
  async () => {
    const rls = await double()
    rls.now = 6_000 + 20
    const limit = limited(rls, BY_USER)
    assert.is(await limit.request(of('ada')), 'pass')
    assert.is(await limit.request(of('ada')), 'pass')
    const third = of('ada')
    assert.is(await limit.request(third), '429 rate limit exceeded')
    assert.is(third.enforcement.refusalReason, 'rate_limit')
    assert.equal(REFUSED.get(third), {
      'content-type': 'text/plain',
      'content-length': '19',
      'retry-after': '40',
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '40',
    })
    assert.is(await limit.request(of('bob')), 'pass')
    rls.now += 40
    const next = of('ada')
    assert.is(await limit.request(next), 'pass')
    assert.equal(limit.answerOf(next), {
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '60',
    })
  },
)

requests('of two gateways share one budget', async () => {
  const rls = await double()
  const [one, other] = [limited(rls, BY_USER), limited(rls, BY_USER)]
  assert.is(await one.request(of('ada')), 'pass')
  assert.is(await other.request(of('ada')), 'pass')
  assert.is(await one.request(of('ada')), '429 rate limit exceeded')
  assert.is(await other.request(of('ada')), '429 rate limit exceeded')
})

requests('are described by domain, entries, cost and limit override', async () => {
  const rls = await double()
  const limit = limited(
    rls,
    `descriptors: [
      { entries: [{ key: user, value: jwt.sub }, { key: path, value: request.path }] },
      { entries: [{ key: size, value: '"l"' }], cost: 'int(request.headers["x-cost"]) * 2' },
      { entries: [{ key: none, value: '1' }], cost: '0' },
      { entries: [{ key: part, value: 'true' }], cost: '0.5' },
      { entries: [{ key: more, value: '""' }],
        limitOverride: '{"unit": "Hour", "requestsPerUnit": 7}' } ]`.replaceAll(/\n\s+/g, ' '),
  )
  assert.is(await limit.request(of('zoë', 'x-cost: 21')), 'pass')
  const entries = (key: string, value: string) => [{ key, value }]
  assert.equal(rls.requests, [
    {
      domain: 'd',
      descriptors: [
        {
          entries: [...entries('user', 'zoë'), ...entries('path', '/')],
          limit: null,
          hits_addend: null,
        },
        { entries: entries('size', 'l'), limit: null, hits_addend: { value: '42' } },
        { entries: entries('none', '1'), limit: null, hits_addend: { value: '0' } },
        { entries: entries('part', 'true'), limit: null, hits_addend: { value: '1' } },
        {
          entries: entries('more', ''),
          limit: { requests_per_unit: 7, unit: 'HOUR' },
          hits_addend: null,
        },
      ],
      hits_addend: 0,
    },
  ])
})

requests('have no descriptor whose expression has no value', async () => {
  const rls = await double()
  const limit = limited(
    rls,
    `descriptors: [
      { entries: [{ key: user, value: jwt.sub }, { key: team, value: jwt.team }] },
      { entries: [{ key: list, value: '[1]' }] },
      { entries: [{ key: cost, value: '"a"' }], cost: 'int(jwt.cost)' },
      { entries: [{ key: less, value: '"a"' }], cost: '-1' },
      { entries: [{ key: word, value: '"a"' }], cost: '"much"' },
      { entries: [{ key: unit, value: '"a"' }], limitOverride: '{"unit": "week", "requestsPerUnit": 1}' },
      { entries: [{ key: each, value: '"a"' }], limitOverride: '{"unit": "day", "requestsPerUnit": -1}' },
      { entries: [{ key: none, value: '"a"' }], limitOverride: '{"unit": "day"}' },
      { entries: [{ key: text, value: '"a"' }], limitOverride: '"7 per day"' },
      { entries: [{ key: fair, value: '"a"' }], limitOverride: '{"unit": "day", "requests_per_unit": 9}' },
      ]`.replaceAll(/\n\s+/g, ' '),
  )
  assert.is(await limit.request(of('ada')), 'pass')
  const keys = rls.requests.map(({ descriptors }) =>
    descriptors.map(({ entries: [first] }) => first!.key),
  )
  assert.equal(keys, [['fair']])
  assert.equal(
    limit.log.all.map(([level, , , name]) => [level, name]),
    ['user,team', 'list', 'cost', 'less', 'word', 'unit', 'each', 'none', 'text'].map((name) => [
      'debug',
      name,
    ]),
  )
})

requests('without a descriptor pass without a call', async () => {
  const rls = await double()
  const limit = limited(rls, BY_USER)
  assert.is(limit.policy.request!(exchangeFor(null)), undefined)
  const none = limited(
    rls,
    'descriptors: [{ entries: [{ key: k, value: jwt.sub }], type: tokens }]',
  )
  assert.is(none.policy.request!(of('ada')), undefined)
  assert.equal([rls.requests.length, limit.service.state], [0, 'idle'])
})

requests('send header values as UTF-8, truncated to a bound', async () => {
  const rls = await double()
  const limit = limited(
    rls,
    `descriptors: [{ entries: [{ key: user, value: 'request.headers["x-user"]' }] }]`,
  )
  const names = ['zoë', 'zo\xeb', '名', '\u{1f600}', 'a'.repeat(9_000)]
  for (const name of names) {
    const isLatin1 = name === 'zo\xeb'
    const wire = isLatin1 ? name : Buffer.from(name).toString('latin1')
    await limit.request(exchangeFor(null, `x-user: ${wire}`))
  }
  assert.equal(
    rls.requests.map(({ descriptors }) => descriptors[0]!.entries[0]!.value),
    ['zoë', 'zoë', '名', '\u{1f600}', 'a'.repeat(4_096)],
  )
})

requests('and their responses get the headers of the service', async () => {
  const extra = () => ({
    request_headers_to_add: [{ key: 'X-Tier', value: 'gold' }],
    response_headers_to_add: [
      { key: 'X-RateLimit-Limit', value: '2, 2;w=60' },
      { key: 'x-many', value: 'a' },
      { key: 'x-many', raw_value: Buffer.from('b\xe9', 'latin1') },
    ],
  })
  const limit = limited(await double({ extra }), BY_USER)
  const exchange = of('ada', 'x-tier: platinum')
  assert.is(await limit.request(exchange), 'pass')
  assert.equal(exchange.request.getAll('x-tier'), ['gold'])
  const { 'x-ratelimit-reset': _reset, ...fields } = limit.answerOf(exchange, [
    ['x-ratelimit-limit', '9'],
    ['x-many', 'old'],
    ['x-other', 'kept'],
  ])
  assert.equal(fields, {
    'x-other': 'kept',
    'x-ratelimit-remaining': '1',
    'x-ratelimit-limit': '2, 2;w=60',
    'x-many': 'b\xe9',
  })
})

requests('are refused with the body and headers of the service', async () => {
  const extra = () => ({
    overall_code: 'OVER_LIMIT' as const,
    raw_body: Buffer.from('{"slow":"down"}'),
    response_headers_to_add: [
      { key: 'x-vendor-ratelimited', value: 'true' },
      { key: 'content-type', value: 'application/json' },
      { key: 'retry-after', value: '7' },
    ],
  })
  const exchange = of('ada')
  assert.is(
    await limited(await double({ extra }), BY_USER).request(exchange),
    '429 {"slow":"down"}',
  )
  assert.equal(REFUSED.get(exchange), {
    'content-length': '15',
    'x-vendor-ratelimited': 'true',
    'content-type': 'application/json',
    'retry-after': '7',
  })
})

requests('ignore service headers that are malformed or change the framing', async () => {
  const bad = [
    { key: 'content-length', value: '0' },
    { key: 'Transfer-Encoding', value: 'chunked' },
    { key: 'connection', value: 'close' },
    { key: 'host', value: 'b' },
    { key: ':path', value: '/b' },
    { key: 'x y', value: 'b' },
    { key: '', value: 'b' },
    { key: 'x-é', value: 'b' },
    { key: 'x-split', value: 'a\r\nx-b: c' },
    { key: 'x-nul', value: 'a\0' },
    { key: 'x-long', value: 'a'.repeat(9_000) },
    { key: 'x-good', value: ' ok\t' },
  ]
  const extra = () => ({ request_headers_to_add: bad, response_headers_to_add: bad })
  const limit = limited(await double({ extra }), BY_USER)
  const exchange = of('ada')
  assert.is(await limit.request(exchange), 'pass')
  assert.equal(
    [...exchange.request.entries()],
    [
      ['host', 'a'],
      ['x-good', 'ok'],
    ],
  )
  const names = Object.keys(limit.answerOf(exchange)).filter((name) => !name.includes('ratelimit'))
  assert.equal(names, ['x-good'])
})

requests(
  'report the tightest of several budgets, and the latest reset of exhausted ones',
  async () => {
    const rules = {
      user: { requests_per_unit: 2, unit: 'MINUTE' },
      all: { requests_per_unit: 9, unit: 'SECOND' },
      day: { requests_per_unit: 2, unit: 'DAY' },
    } as const
    const rls = await double({ rules })
    rls.now = 86_400
    const each = ['user', 'all', 'day', 'free'].map(
      (key) => `{ entries: [{ key: ${key}, value: '"x"' }] }`,
    )
    const limit = limited(rls, `descriptors: [${each.join()}]`)
    const first = of('ada')
    await limit.request(first)
    assert.equal(limit.answerOf(first), {
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '86400',
    })
    await limit.request(of('ada'))
    const third = of('ada')
    assert.is(await limit.request(third), '429 rate limit exceeded')
    assert.is(REFUSED.get(third)!['retry-after'], '86400')
  },
)

requests('pass when only a shadow limit is exceeded', async () => {
  const rules = { user: { requests_per_unit: 1, unit: 'MINUTE', shadow: true } } as const
  const limit = limited(await double({ rules }), BY_USER)
  for (let count = 0; count < 3; count++) assert.is(await limit.request(of('ada')), 'pass')
})

requests('are refused while the service is down, or pass with failOpen', async () => {
  const rls = await double({ fail: { code: 14, details: 'redis: no route to 10.1.2.3' } })
  const closed = limited(rls, BY_USER)
  const open = limited(rls, `${BY_USER}, failureMode: failOpen`)
  const exchange = of('ada')
  assert.is(await closed.request(exchange), '500 rate limit failed')
  assert.is(exchange.enforcement.refusalReason, 'rate_limit_unavailable')
  assert.equal(REFUSED.get(exchange), { 'content-type': 'text/plain', 'content-length': '17' })
  assert.is(await open.request(of('ada')), 'pass')
  delete rls.behavior.fail
  assert.is(await closed.request(of('ada')), 'pass')
  rls.stop()
  assert.is(await closed.request(of('ada')), '500 rate limit failed')
  assert.is(await open.request(of('ada')), 'pass')
  assert.equal(closed.log.all[0]!.slice(0, 2), ['warn', 'rate limit service failed'])
  assert.is(closed.log.all[0]![5], 'gRPC status unavailable: redis: no route to 10.1.2.3')
})

requests('wait for the service up to the configured timeout', async () => {
  let release = (): void => {}
  const rls = await double({ hold: new Promise((resolve) => (release = resolve)) })
  const limit = limited(rls, `${BY_USER}, timeout: 30ms`)
  assert.is(await limit.request(of('ada')), '500 rate limit failed')
  assert.is(limit.log.all[0]![5], 'no response in time')
  release()
})

requests('cancel the query when the client closes the connection', async () => {
  let release = (): void => {}
  const hold = new Promise<void>((resolve) => (release = resolve))
  const rls = await double({ hold })
  const limit = limited(rls, BY_USER)
  const exchange = of('ada')
  let outer = 0
  const backend = { cancel: () => outer++ }
  exchange.pendingCall = backend
  const verdict = limit.policy.request!(exchange) as Promise<unknown>
  await until('the call', () => rls.requests.length > 0)
  exchange.abandon('client_closed')
  assert.is(await deadline(verdict, 30_000, 'a verdict'), undefined)
  await until('the call to be cancelled', () => rls.cancelled > 0)
  assert.is(outer, 1)
  assert.equal(limit.log.all, [])
  release()
  const later = of('ada')
  later.pendingCall = backend
  assert.is(await limit.request(later), 'pass')
  assert.is(later.pendingCall, backend)
})

requests.run()
