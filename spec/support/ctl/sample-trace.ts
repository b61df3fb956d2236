// A trace of one request, as a gateway sends it: what specs of gwctl show, search and save.

import type { TraceEvent } from '../../../lib/core/trace-events.ts'

type Sent = Omit<TraceEvent, 'message'> & { readonly message: object }

const REQUEST = {
  method: 'POST',
  uri: 'http://api.example.com/v1/items?q=1',
  path: '/v1/items',
  host: 'api.example.com',
  headers: { 'content-type': 'application/json', authorization: '<redacted>' },
}
const SOURCE = { address: '127.0.0.1', port: 40_001 }
const AFTER = { ...REQUEST, headers: { ...REQUEST.headers, 'x-user': 'alice' } }
const BACKEND = { name: 'app', type: 'host', protocol: 'http' }

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const snapshot = (stage: string, requestState: object): object => ({
  type: stage.includes('response') ? 'responseSnapshot' : 'requestSnapshot',
  stage,
  requestState,
})
const response = (code: number): object => ({
  request: AFTER,
  source: SOURCE,
  backend: BACKEND,
  response: { code, headers: { 'content-type': 'text/event-stream' } },
})

function point(eventEnd: number, message: object, severity: Sent['severity'] = 'info'): Sent {
  return { eventStart: null, eventEnd, severity, message }
}

const SAMPLE: readonly Sent[] = [
  point(0, { type: 'requestStarted' }),
  point(120, snapshot('initial request', { request: REQUEST, source: SOURCE, env: {} })),
  point(130, { type: 'policySelection', phase: 'gateway', effectivePolicy: { cors: null } }),
  point(150, snapshot('gateway policies', { request: REQUEST, source: SOURCE, env: {} })),
  point(180, {
    type: 'routeSelection',
    selectedRoute: 'gateway/default/default/api',
    evaluatedRoutes: ['gateway/default/default/api', 'gateway/default/default/hi'],
  }),
  point(
    260,
    {
      type: 'authorizationResult',
      rules: [{ name: 'jwt.sub == "alice"', matched: true, mode: 'require' }],
      result: 'allow',
    },
    'success',
  ),
  point(300, snapshot('route policies', { request: AFTER, source: SOURCE, env: {} })),
  point(420, { type: 'backendCallStart', target: '127.0.0.1:8080' }),
  point(430, {
    type: 'bodySnapshot',
    stage: 'final request',
    body: base64('{"name":"thing","tags":["a","b"]}'),
    bytes: 33,
  }),
  {
    eventStart: 420,
    eventEnd: 14_420,
    severity: 'warn',
    message: { type: 'backendCallResult', status: 404, error: null },
  },
  point(14_500, snapshot('raw response', response(404))),
  point(14_900, {
    type: 'bodySnapshot',
    stage: 'response',
    body: base64('event: note\ndata: {"id":1,"text":"日本"}\n\ndata: [DONE]\n\n'),
    bytes: 56,
  }),
  point(15_000, { type: 'requestFinished', status: 404, error: null }, 'warn'),
]

export const SAMPLE_LINES: readonly string[] = SAMPLE.map((event) => JSON.stringify(event))
