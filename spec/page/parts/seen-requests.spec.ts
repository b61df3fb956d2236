// Requests from lines of the access log, and the explanation of their outcome.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LogLine } from '../../../lib/admin/page-api/page-api-types.ts'
import {
  curlFor,
  explain,
  expressionFor,
  isListenerKey,
  logsRequests,
  requestOf,
  shortRoute,
  summaryText,
  userText,
} from '../../../lib/page/parts/seen-requests.ts'
import type { SeenRequest } from '../../../lib/page/parts/seen-requests.ts'

const requests = suite('page/seen-requests')

function lineOf(fields: Record<string, string | number>, over: Partial<LogLine> = {}): LogLine {
  return {
    number: 7,
    at: 1_000,
    level: 'info',
    module: 'request',
    message: 'request',
    fields: Object.entries(fields),
    ...over,
  }
}

function seen(fields: Record<string, string | number>): SeenRequest {
  return requestOf(lineOf({ 'http.method': 'GET', 'http.path': '/a', ...fields }))!
}

requests('are read from access lines only', () => {
  const fields = {
    route: 'gateway/default/default/chat',
    'http.method': 'POST',
    'http.path': '/v1/chat',
    'http.status': 429,
    duration: '2ms',
  }
  const { fields: _all, ...request } = requestOf(lineOf(fields))!
  assert.equal(request, {
    number: 7,
    at: 1_000,
    method: 'POST',
    path: '/v1/chat',
    route: 'gateway/default/default/chat',
    status: 429,
    duration: '2ms',
  })
  assert.is(requestOf(lineOf(fields, { module: 'mcp' })), null)
  assert.is(requestOf(lineOf(fields, { message: 'reloaded' })), null)
})

requests('name their user, by token, API key or password', () => {
  assert.is(userText(seen({ 'jwt.sub': 'ann', 'apiKey.user_id': 'alice' })), 'ann')
  assert.is(userText(seen({ 'apiKey.user_id': 'alice' })), 'alice')
  assert.is(userText(seen({ 'apiKey.name': 'key of ci' })), 'key of ci')
  assert.is(userText(seen({ 'basicAuth.username': 'bob' })), 'bob')
  assert.is(userText(seen({})), '')
})

requests('for the page itself are left out', () => {
  assert.is(requestOf(lineOf({ 'http.path': '/api/live', endpoint: 'ui' })), null)
})

requests('that went well need no reason', () => {
  assert.is(explain(seen({ 'http.status': 200, outcome: 'complete' })), null)
  assert.is(explain(seen({ 'http.status': 302, outcome: 'complete' })), null)
})

requests('that a rule refused name it as people count and as the file does', () => {
  const reason = explain(seen({ 'http.status': 403, reason: 'authorization_denied', rule: 1 }))
  assert.match(reason!.words, /^The rule authorization\.rules\[1\] denied /)
  assert.is(reason!.policy, 'authorization.rules[1]')
})

requests('that no rule allowed say so', () => {
  const reason = explain(seen({ 'http.status': 403, reason: 'authorization_denied' }))
  assert.match(reason!.words, /No authorization rule/)
  assert.is(reason!.policy, 'authorization')
})

requests('distinguish a refusal by the backend from one by a policy', () => {
  const backend = explain(seen({ 'http.status': 404, endpoint: 'a:80', outcome: 'complete' }))
  assert.match(backend!.words, /backend responded with 404/)
  assert.match(backend!.advice, /a:80/)
  const policy = explain(seen({ 'http.status': 404, outcome: 'complete' }))
  assert.match(policy!.words, /policy/)
})

requests('a client that ends the stream on which it listens to MCP has done nothing wrong', () => {
  const ear = { 'http.method': 'GET', 'http.status': 200, 'mcp.session.id': 'abcd1234' }
  const closed = seen({ ...ear, outcome: 'client_closed' })
  assert.is(explain(closed), null)
  assert.match(summaryText(closed), /closed by the client/)
  assert.is.not(explain(seen({ ...ear, outcome: 'backend_reset' })), null)
  assert.is.not(explain(seen({ ...ear, 'http.method': 'POST', outcome: 'client_closed' })), null)
})

requests('that found no backend say how that failed', () => {
  const error = 'upstream call failed: cannot connect to a:80: connection refused'
  const reason = explain(seen({ 'http.status': 503, reason: 'BACKEND_CONNECT', error }))
  assert.match(reason!.words, /: cannot connect to a:80: connection refused\.$/)
})

requests('that were cut name the side that cut them, with any status', () => {
  const reason = explain(seen({ 'http.status': 200, endpoint: 'a:80', outcome: 'backend_reset' }))
  assert.match(reason!.words, /backend closed/)
})

requests('show an MCP error in a response with status 200', () => {
  const said = { 'http.status': 200, outcome: 'complete', 'mcp.error.code': -32602 }
  assert.match(explain(seen({ ...said, error: 'Unknown tool: x' }))!.words, /Unknown tool: x/)
  assert.match(explain(seen(said))!.words, /-32602/)
})

requests('that are not valid MCP say what is wrong', () => {
  const said = { endpoint: 'demo', protocol: 'mcp', outcome: 'complete' }
  assert.match(explain(seen({ ...said, 'http.status': 400 }))!.advice, /initialize/)
  assert.match(explain(seen({ ...said, 'http.status': 404 }))!.words, /session/)
  assert.match(explain(seen({ ...said, 'http.status': 406 }))!.advice, /text.event-stream/)
  assert.match(explain(seen({ ...said, 'http.status': 418 }))!.words, /backend responded with 418/)
})

requests('with an unknown code show the code', () => {
  assert.match(explain(seen({ 'http.status': 418, reason: 'teapot' }))!.words, /teapot/)
})

requests('that succeeded show a summary', () => {
  assert.is(summaryText(seen({})), '')
  assert.is(
    summaryText(seen({ 'mcp.method.name': 'tools/call', 'mcp.resource.name': 'echo' })),
    'tools/call echo',
  )
  const llm = { 'gen_ai.request.model': 'a', 'gen_ai.response.model': 'b' }
  assert.is(summaryText(seen(llm)), 'b')
  assert.is(summaryText(seen({ ...llm, 'gen_ai.usage.input_tokens': 3 })), 'b, 3 tokens in, ? out')
})

requests('are found again by an expression that quotes what it must', () => {
  const request = requestOf(lineOf({ 'http.method': 'GET', 'http.path': '/a"b\\c' }))!
  assert.is(
    expressionFor(request),
    String.raw`request.method == "GET" && request.path == "/a\"b\\c"`,
  )
})

requests('know routes by the last part of the key', () => {
  assert.is(shortRoute('gateway/default/default/chat'), 'chat')
  assert.is(shortRoute('chat'), 'chat')
})

requests('that no route took are counted by a listener', () => {
  for (const key of ['gateway/default', 'gateway/default/tls']) assert.ok(isListenerKey(key))
  for (const key of ['gateway/default/default/chat', 'gateway/default/tls/default/chat'])
    assert.not(isListenerKey(key))
})

requests('are logged from level info on, by their own level or the general one', () => {
  for (const filter of ['info', 'debug', 'warn,request=info', 'request=trace,off', 'mcp=off'])
    assert.ok(logsRequests(filter), filter)
  for (const filter of ['warn', 'off', 'info,request=warn', 'debug,request=off'])
    assert.not(logsRequests(filter), filter)
})

requests('get an example command with a reachable host', () => {
  assert.is(
    curlFor({ bind: '127.0.0.1:3000', protocol: 'HTTP' }, 'x'),
    'curl -i http://127.0.0.1:3000/',
  )
  assert.is(curlFor({ bind: '0.0.0.0:80', protocol: 'HTTP' }, 'box'), 'curl -i http://box:80/')
  assert.is(curlFor({ bind: '[::]:443', protocol: 'HTTPS' }, 'box'), 'curl -i -k https://box:443/')
})

requests.run()
