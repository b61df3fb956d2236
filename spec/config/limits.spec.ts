import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LimitConfig } from '../../lib/config/policy-types.ts'
import { configOf, problemsOf, routeProblems, routeText } from '../support/config.ts'

const limits = suite('rate limits')

const text = (policies: string) =>
  routeText(`backends: [{ host: "a:1" }], policies: { ${policies} }`)

const routeOf = (policies: string) => configOf(text(policies)).gateways[0]!.listeners[0]!.routes[0]!

function limitsOf(policies: string): readonly LimitConfig[] {
  return routeOf(policies).limits
}

function problems(policies: string, backends = '[{ host: "a:1" }]'): string[] {
  return routeProblems(`backends: ${backends}, policies: { ${policies} }`)
}

function entryProblems(entry: string): string[] {
  return problems(`rateLimit: { local: [${entry}] }`).map((line) =>
    line.replace('routes[0].policies.rateLimit.local[0]', '').replace(/^[:.] ?/, ''),
  )
}

limits('become buckets from rateLimit.local', () => {
  const local = '[{ requests: 5, unit: Seconds, burst: 2 }, { tokens: 100, unit: Hours }]'
  assert.equal(limitsOf(`rateLimit: { local: ${local} }`), [
    {
      name: 'routes[0].policies.rateLimit.local[0]',
      resource: null,
      counts: 'requests',
      amount: 5,
      most: 7,
      interval: 1000,
      key: null,
    },
    {
      name: 'routes[0].policies.rateLimit.local[1]',
      resource: null,
      counts: 'tokens',
      amount: 100,
      most: 100,
      interval: 3_600_000,
      key: null,
    },
  ])
  assert.is(limitsOf('rateLimit: { local: [{ requests: 1, unit: Minutes }] }')[0]!.interval, 60_000)
})

limits('become the same buckets from localRateLimit', () => {
  const bucket = '{ maxTokens: 7, tokensPerFill: 5, fillInterval: 1s, type: tokens, key: jwt.sub }'
  const [limit] = limitsOf(`localRateLimit: [${bucket}]`)
  assert.equal([limit!.counts, limit!.amount, limit!.most, limit!.interval], ['tokens', 5, 7, 1000])
  assert.is(limit!.key!.source, 'jwt.sub')
  assert.equal(problems('localRateLimit: [{ maxTokens: 1, tokensPerFill: 5, fillInterval: 1s }]'), [
    'routes[0].policies.localRateLimit[0].maxTokens: max tokens cannot be less than the refill amount',
  ])
})

limits('need exactly one of requests and tokens, and a unit', () => {
  const one = "expected exactly one of 'requests', 'tokens'"
  assert.equal(entryProblems('{ unit: Seconds }'), [`got none, ${one}`])
  assert.equal(entryProblems('{ requests: 1, tokens: 1, unit: Seconds }'), [
    `got requests and tokens, ${one}`,
  ])
  assert.equal(entryProblems('{ requests: 1 }'), ['unit is required'])
  assert.equal(entryProblems('{ requests: 1, unit: Minute }'), [
    "unit: got 'Minute', expected one of 'Seconds', 'Minutes', 'Hours', did you mean 'Minutes'?",
  ])
  assert.equal(entryProblems('{ tokens: 1, unit: Hours, burst: 1 }'), [
    'burst: got burst with tokens, expected it only with requests',
  ])
  assert.equal(entryProblems('{ requests: 0, unit: Hours }'), [
    'requests: got 0, expected at least 1',
  ])
  assert.equal(entryProblems('{ requests: 1.5, unit: Hours }'), [
    'requests: got a fraction, expected a whole number',
  ])
})

limits('accept 1 to 16 entries', () => {
  const entries = (count: number) =>
    Array.from({ length: count }, () => '{ requests: 1, unit: Hours }').join(', ')
  const path = 'routes[0].policies.rateLimit.local: '
  const found = (count: number) => problems(`rateLimit: { local: [${entries(count)}] }`)
  assert.equal(found(16), [])
  assert.equal(found(17), [`${path}got too many entries, expected at most 16`])
  assert.equal(found(0), [`${path}got an empty list, expected at least one entry`])
})

limits('compile their keys at load', () => {
  const key = (text: string, counts = 'requests') =>
    entryProblems(`{ ${counts}: 1, unit: Hours, key: '${text}' }`)
  assert.equal(key('jwt.sub'), [])
  assert.equal(key('apiKey.user_id'), [])
  assert.equal(key('llm.requestModel', 'tokens'), [])
  // §8: a key that reads an unknown value falls back to one shared bucket; it is not an error.
  assert.equal(key('llm.requestModel'), [])
  const refused = 'key: local rate limit key is not a valid CEL expression: '
  assert.match(key('jtw.sub')[0]!, `${refused}unknown name jtw, did you mean jwt?`)
  assert.match(key('[1]')[0]!, /not a valid CEL expression: .*list/)
})

const DESCRIPTOR = "{ entries: [{ key: user, value: jwt.sub }], type: tokens, cost: '1' }"

limits('of a rate limit service accept both config forms', () => {
  const remote = `{ host: "rls:8081", domain: d, descriptors: [${DESCRIPTOR}] }`
  const { remoteRateLimit } = routeOf(`remoteRateLimit: ${remote}`).policies
  const { descriptors, ...rest } = remoteRateLimit!
  assert.equal(rest, {
    endpoint: { kind: 'tcp', host: 'rls', port: 8081 },
    domain: 'd',
    timeout: null,
    failureMode: 'failClosed',
  })
  assert.is(descriptors[0]!.entries[0]!.value.source, 'jwt.sub')
  const global = `{ host: "rls:8081", domain: d, timeout: 2s, failureMode: FailOpen, descriptors:
    [{ entries: [{ name: user, expression: jwt.sub }], unit: Tokens }] }`.replace(/\n\s+/, ' ')
  const fromGlobal = routeOf(`rateLimit: { global: ${global} }`).policies.remoteRateLimit!
  assert.equal([fromGlobal.failureMode, fromGlobal.timeout], ['failOpen', 2_000])
  assert.equal(
    fromGlobal.descriptors.map(({ counts, entries }) => [counts, entries[0]!.key]),
    [['tokens', 'user']],
  )
  assert.match(
    problems(`rateLimit: { global: ${global} }, remoteRateLimit: ${remote}`)[0]!,
    'got remoteRateLimit and rateLimit.global, expected one of them',
  )
})

const NO_LLM =
  'got a token limit, expected a request limit: only LLM responses have tokens, and no backend here is an LLM'

const EVERY_FORM = [
  [
    'rateLimit.local[1].tokens',
    'rateLimit: { local: [{ requests: 1, unit: Hours }, { tokens: 1, unit: Hours }] }',
  ],
  [
    'localRateLimit[0].type',
    'localRateLimit: [{ maxTokens: 5, tokensPerFill: 5, fillInterval: 1s, type: tokens }]',
  ],
  [
    'remoteRateLimit.descriptors[0].type',
    `remoteRateLimit: { host: "r:1", domain: d, descriptors: [${DESCRIPTOR}] }`,
  ],
  [
    'rateLimit.global.descriptors[0].unit',
    'rateLimit: { global: { host: "r:1", domain: d, descriptors: [{ entries: [{ name: u, expression: jwt.sub }], unit: Tokens }] } }',
  ],
] as const

limits('of tokens are refused on routes with MCP backends only, in every form', () => {
  const mcp = '[{ mcp: { targets: [{ name: a, stdio: { cmd: x } }] } }]'
  for (const [path, policies] of EVERY_FORM) {
    assert.equal(problems(policies, mcp), [`routes[0].policies.${path}: ${NO_LLM}`])
    assert.equal(problems(policies), [])
    assert.equal(problems(policies, '[{ ai: { name: a, provider: { mock: {} } } }]'), [])
  }
  const [, local] = EVERY_FORM[0]
  assert.equal(
    problemsOf(`mcp:\n  targets: [{ name: a, stdio: { cmd: x } }]\n  policies: { ${local} }\n`),
    [`c.yaml:3:68: mcp.policies.rateLimit.local[1].tokens: ${NO_LLM}`],
  )
  assert.equal(problems('rateLimit: { local: [{ requests: 1, unit: Hours }] }', mcp), [])
})

limits('of tokens are refused on routes with a direct response only', () => {
  const [path, local] = EVERY_FORM[0]
  assert.equal(routeProblems(`policies: { directResponse: { status: 200 }, ${local} }`), [
    `routes[0].policies.${path}: ${NO_LLM}`,
  ])
})

limits('are not reported in addition to an unknown backend', () => {
  const [, local] = EVERY_FORM[0]
  assert.equal(problems(local, '[{ backend: missing }]'), [
    "routes[0].backends[0].backend: unknown backend 'missing'",
  ])
})

limits('warn about a key that reads a value outside its context', () => {
  const warningsOf = (counts: string, key: string): string[] => {
    const limit = `{ ${counts}: 1, unit: Hours, key: '${key}' }`
    const { warnings } = configOf(text(`rateLimit: { local: [${limit}] }`))
    return warnings.map((warning) => warning.replace(/^.*local\[0\]\.key: /, ''))
  }
  const shared = (names: string, counts: string): string[] => [
    `reads ${names}, not known when ${counts} are counted: all requests share one bucket`,
  ]
  for (const key of ['llm.requestModel', 'mcp.sessionId', 'backend.name', 'string(response.code)'])
    assert.equal(
      warningsOf('requests', key),
      shared(/llm|mcp|backend|response/.exec(key)![0], 'requests'),
    )
  assert.equal(
    warningsOf('tokens', 'mcp.sessionId + string(response.code)'),
    shared('mcp and response', 'tokens'),
  )
  for (const key of ['llm.requestModel', 'backend.name'])
    assert.equal(warningsOf('tokens', key), [])
})

limits.run()
