import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildResponseHead } from '../../lib/core/replies.ts'
import { createDirectResponsePolicy } from '../../lib/enforce/direct-response.ts'
import {
  createRequestHeaderPolicy,
  createResponseHeaderPolicy,
} from '../../lib/enforce/header-changes.ts'
import { replyOf, replyOrPass } from '../support/policy-reply.ts'
import { routeOf } from '../support/config.ts'
import { contentOf, exchangeOf, requestOf } from '../support/exchange-of.ts'

const policies = suite('header modifiers and direct responses')

const BACKEND = 'backends: [{ host: "a:1" }]'

function configOf(fields: string) {
  return routeOf(`${BACKEND}, policies: { ${fields} }`).policies
}

policies('add, replace and remove request headers', () => {
  const written = '{ add: { X-Add: new }, set: { X-Set: new, x-fresh: new }, remove: [X-Remove] }'
  const config = configOf(`requestHeaderModifier: ${written}`).requestHeaderModifier!
  const request = requestOf(
    'GET / HTTP/1.1',
    'Host: a',
    'x-add: old',
    'X-SET: old',
    'x-set: older',
    'x-remove: a',
    'X-Remove: b',
    'x-keep: kept',
  )
  assert.is(replyOrPass(createRequestHeaderPolicy(config), exchangeOf(request)), undefined)
  assert.is(
    request.fieldsText(),
    'Host: a\r\nx-add: old\r\nx-keep: kept\r\nx-set: new\r\nx-fresh: new\r\nx-add: new\r\n',
  )
})

policies('change response headers in the same way', () => {
  const written = '{ add: { x-a: new }, set: { x-b: new }, remove: [server] }'
  const config = configOf(`responseHeaderModifier: ${written}`).responseHeaderModifier!
  const head = buildResponseHead(200, [
    ['server', 'x'],
    ['x-a', 'old'],
    ['x-b', 'old'],
  ])
  createResponseHeaderPolicy(config).response!(
    exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a')),
    head,
  )
  assert.equal(
    [...head.entries()],
    [
      ['x-a', 'old'],
      ['x-b', 'new'],
      ['x-a', 'new'],
    ],
  )
})

function answer(fields: string) {
  const config = configOf(`directResponse: { ${fields} }`).directResponse!
  const request = requestOf('POST / HTTP/1.1', 'Host: a', 'Content-Length: 6')
  return replyOf(createDirectResponsePolicy(config), exchangeOf(request))
}

policies('respond directly with status, headers and body, without reading the request', () => {
  const reply = answer('status: 418, body: "grüße\\n", headers: { X-A: b, Content-Type: text/x }')
  assert.is(reply.head.status, 418)
  assert.is(reply.head.get('x-a'), 'b')
  assert.equal(reply.head.getAll('content-type'), ['text/x'])
  assert.is(reply.head.get('content-length'), '8')
  assert.is(Buffer.from(contentOf(reply), 'latin1').toString(), 'grüße\n')
})

policies(
  'respond with plain text unless a type is set, and without a type when the body is empty',
  () => {
    assert.is(answer('status: 200, body: x').head.get('content-type'), 'text/plain')
    assert.is(answer('status: 200').head.get('content-type'), undefined)
    assert.is(answer('status: 200').head.get('content-length'), '0')
    assert.is(answer('status: 204').head.get('content-length'), undefined)
  },
)

policies('respond with one date even when one is set', () => {
  assert.equal(answer('status: 200, headers: { date: now }').head.getAll('date'), ['now'])
})

policies('create a new response for every request', () => {
  const config = configOf('directResponse: { status: 200, body: x }').directResponse!
  const policy = createDirectResponsePolicy(config)
  const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a'))
  const first = replyOf(policy, exchange)
  first.head.add('x-a', 'b')
  const second = replyOf(policy, exchange)
  assert.is(second.head.get('x-a'), undefined)
  assert.is(contentOf(first), 'x')
  assert.is(contentOf(second), 'x')
})

policies.run()
