// What expressions see of an exchange, and that it is read in place.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileExpression } from '../../lib/expressions/compile.ts'
import type { ExchangeFacts } from '../../lib/core/facts.ts'
import { CEL_FIELDS, CEL_VARIABLES } from '../../lib/expressions/context-names.ts'
import { celToJson } from '../../lib/expressions/json-values.ts'
import { ExpressionView } from '../../lib/expressions/exchange-view.ts'
import type { Exchange } from '../../lib/core/exchange.ts'
import { buildReply } from '../../lib/core/replies.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'

function exchange(): Exchange {
  const head = requestOf(
    'POST /a/b?c=d&e HTTP/1.1',
    'Host: api.example.com:8443',
    'X-One: 1',
    'X-Two: first',
    'Content-Length: 0',
    'x-two: second',
  )
  const one = exchangeOf(head, 'https')
  one.choice.listenerKey = 'gateway/main/public'
  one.choice.routeKey = 'gateway/main/public/default/chat'
  return one
}

function outcome(source: string, facts: ExchangeFacts = {}, from = exchange()): unknown {
  const result = compileExpression(source, 'log').evaluate(new ExpressionView(from, facts))
  return 'fault' in result ? `fault ${result.fault}` : result.value
}

const views = suite('cel view')

views('shows the request', () => {
  assert.is(outcome('request.method'), 'POST')
  assert.is(outcome('request.uri'), 'https://api.example.com:8443/a/b?c=d&e')
  assert.is(outcome('request.host'), 'api.example.com')
  assert.is(outcome('request.scheme'), 'https')
  assert.is(outcome('request.path'), '/a/b')
  assert.is(outcome('request.pathAndQuery'), '/a/b?c=d&e')
  assert.is(outcome('request.version'), 'HTTP/1.1')
  assert.is(outcome('timestamp(request.startTime) > timestamp("2020-01-01T00:00:00Z")'), true)
  assert.is(outcome('source.address + " " + string(source.port)'), '127.0.0.1 1')
})

views('shows the request as the client sent it, before any rewrite', () => {
  const from = exchange()
  from.request.target = '/rewritten'
  assert.is(outcome('request.path', {}, from), '/a/b')
})

views('shows the host without the port', () => {
  const host = (authority: string): unknown =>
    outcome('request.host', {}, exchangeOf(requestOf('GET / HTTP/1.1', `Host: ${authority}`)))
  assert.is(host('a.b'), 'a.b')
  assert.is(host('a.b:80'), 'a.b')
  assert.is(host('[::1]:80'), '[::1]')
  assert.is(host('[::1]'), '[::1]')
  assert.is(host('A.B.:80'), 'a.b')
})

views('finds header fields in any case, and joins several lines', () => {
  assert.is(outcome('request.headers["x-one"]'), '1')
  assert.is(outcome('request.headers["X-ONE"]'), '1')
  assert.is(outcome('request.headers["x-two"]'), 'first, second')
  assert.equal(outcome('request.headerValues["X-Two"]'), ['first', 'second'])
  assert.is(outcome('request.headerValues["x-two"][1]'), 'second')
  assert.equal(outcome('request.headerValues["x-one"]'), ['1'])
  assert.is(outcome('request.headerValues["x-three"]'), 'fault no_such_key')
  assert.is(outcome('request.headers.host'), 'api.example.com:8443')
  assert.is(outcome('request.headers["x-three"]'), 'fault no_such_key')
  assert.is(outcome('default(request.headers["x-three"], "none")'), 'none')
  assert.is(outcome('"X-One" in request.headers'), true)
  assert.is(outcome('"x-three" in request.headers'), false)
  assert.is(outcome('has(request.headers.host) && !has(request.headers.cookie)'), true)
  assert.is(outcome('size(request.headers)'), 4n)
  assert.is(outcome('request.headers.exists(n, n.startsWith("x-t"))'), true)
  assert.is(
    outcome('toJson(request.headers)'),
    '{"host":"api.example.com:8443","x-one":"1","x-two":"first, second","content-length":"0"}',
  )
  assert.is(outcome('request.headers[1]'), 'fault no_such_key')
})

views('shows headers as policies changed them', () => {
  const from = exchange()
  from.request.remove('x-one')
  from.request.set('x-two', 'third')
  assert.is(outcome('"x-one" in request.headers', {}, from), false)
  assert.is(outcome('request.headers["x-two"]', {}, from), 'third')
})

views('shows the response once there is one', () => {
  const from = exchange()
  assert.is(outcome('response.code', {}, from), 'fault no_such_key')
  assert.is(outcome('has(response.code)', {}, from), false)
  assert.is(outcome('response.headers["x-a"]', {}, from), 'fault no_such_key')
  from.response.reply = buildReply(404, [['x-a', 'b']])
  assert.is(outcome('response.code >= 400', {}, from), true)
  assert.is(outcome('response.headers["X-A"]', {}, from), 'b')
})

views('shows listener and route once they are chosen', () => {
  assert.is(outcome('proxy.gateway.name'), 'main')
  assert.is(outcome('proxy.gateway.namespace'), 'default')
  assert.is(outcome('proxy.listener.name'), 'public')
  assert.is(outcome('proxy.route.namespace + "/" + proxy.route.name'), 'default/chat')
  assert.is(outcome('proxy.route.kind'), 'HTTPRoute')
  assert.is(outcome('proxy.bind', { bind: 'bind/3000' }), 'bind/3000')
  const from = exchange()
  from.choice.gatewayNamespace = 'prod'
  assert.is(outcome('proxy.gateway.namespace', {}, from), 'prod')
  from.choice.listenerKey = from.choice.routeKey = ''
  for (const field of ['gateway.name', 'listener.name', 'route.name'])
    assert.is(outcome(`proxy.${field}`, {}, from), 'fault no_such_key')
})

views('shows the backend once one was picked', () => {
  assert.is(outcome('backend.name'), 'fault no_such_key')
  assert.is(outcome('has(backend.name)'), false)
  const from = exchange()
  from.choice.backend = { name: 'b', type: 'mcp', protocol: 'mcp' }
  assert.is(outcome('backend.name + backend.type + backend.protocol', {}, from), 'bmcpmcp')
})

views('shows facts once they are known', () => {
  assert.is(outcome('mcp.tool.name'), 'fault no_such_key')
  assert.is(outcome('has(mcp.tool)'), false)
  const facts: ExchangeFacts = {
    mcp: { methodName: 'tools/call', tool: { target: 't', name: 'add', arguments: { a: [1, 2] } } },
    basicAuth: { username: 'ann' },
    apiKey: new Map([['user_id', 'u7']]),
    llm: { streaming: true, totalTokens: 20, params: { temperature: 0.5, max_tokens: 9 } },
  }
  assert.is(outcome('mcp.methodName', facts), 'tools/call')
  assert.is(outcome('mcp.tool.target + "." + mcp.tool.name', facts), 't.add')
  assert.is(outcome('mcp.tool.arguments.a[1] == 2', facts), true)
  assert.is(outcome('has(mcp.tool) && !has(mcp.prompt) && !has(mcp.tool.result)', facts), true)
  assert.is(outcome('basicAuth.username', facts), 'ann')
  assert.is(outcome('apiKey.user_id', facts), 'u7')
  assert.is(outcome('llm.streaming && llm.totalTokens == 20', facts), true)
  assert.is(outcome('llm.params.max_tokens + 1', facts), 10n)
})

views('shows three well-known variables of the process and no other', () => {
  const before = process.env['POD_NAME']
  process.env['POD_NAME'] = 'pod-1'
  try {
    assert.is(outcome('env.podName'), 'pod-1')
  } finally {
    if (before === undefined) delete process.env['POD_NAME']
    else process.env['POD_NAME'] = before
  }
  assert.throws(() => compileExpression('env.PATH', 'log'), /unknown field PATH/)
})

views('has every listed field and every name', () => {
  for (const [name, type] of Object.entries(CEL_VARIABLES)) {
    if (!(type in CEL_FIELDS)) continue
    for (const field of Object.keys(CEL_FIELDS[type as keyof typeof CEL_FIELDS]))
      compileExpression(`has(${name}.${field}) ? 1 : 2`, 'log').evaluate(
        new ExpressionView(exchange()),
      )
  }
  const view = new ExpressionView(exchange())
  for (const name of Object.keys(CEL_VARIABLES)) assert.ok(name in view, name)
})

views('reads only what the expression reads', () => {
  const touched: string[] = []
  const watched = new Proxy(exchange(), {
    get(target, key) {
      touched.push(String(key))
      return Reflect.get(target, key, target) as unknown
    },
  })
  const facts = { jwt: new Map([['sub', 'a']]) }
  assert.ok(compileExpression('jwt.sub == "a"', 'rule').holds(new ExpressionView(watched, facts)))
  assert.equal(touched, [])
  assert.is(outcome('request.method', {}, watched), 'POST')
  assert.equal(touched, ['request'])
})

views('converts its values to JSON', () => {
  assert.is(celToJson(outcome('request.headerValues["x-two"]')), '["first","second"]')
})

views.run()
