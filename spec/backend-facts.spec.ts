// The `backend` variable of expressions: the chosen backend after the choice, undefined before.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { begin, server } from './forward/mcp/mcp-client.ts'
import { ask } from './support/ask.ts'
import type { Backend } from './support/backend.ts'
import { Stage } from './support/gateway.ts'

const facts = suite('backend facts')
const stage = new Stage()
facts.after.each(() => stage.clear())

async function answering(content: string): Promise<Backend> {
  const send = `HTTP/1.1 200 OK\r\ncontent-length: ${content.length}\r\n\r\n${content}`
  return stage.backend([{ wait: /\r\n\r\n/ }, { send }, { again: true }])
}

function routeOf(backends: readonly string[], policies = ''): string {
  return `routes: [{ name: all, backends: [${backends.join()}], policies: { ${policies} } }]\n`
}

function host({ port }: Backend, policies = ''): string {
  return `{ host: 127.0.0.1:${port}, policies: { ${policies} } }`
}

const KEY = 'gateway/default/default/all/backend'
const ALL = 'backend.name + " " + backend.type + " " + backend.protocol'

facts('a rule of a backend reads the name of its backend', async () => {
  const backend = await answering('hello')
  const rule = (index: number): string =>
    `authorization: { rules: ['backend.name == "${KEY}${index}" && backend.type == "static"'] }`
  const right = await stage.gateway(routeOf([host(backend, rule(0))]))
  assert.is((await ask(right, 'GET / HTTP/1.1')).status, 200)
  const wrong = await stage.gateway(routeOf([host(backend, rule(1))]))
  assert.is((await ask(wrong, 'GET / HTTP/1.1')).status, 403)
})

facts('a request header can contain the name of the backend', async () => {
  const backend = await answering('hello')
  const policies = `transformations: { request: { set: { x-backend: '${ALL}' } } }`
  const gateway = await stage.gateway(routeOf([host(backend, policies)]))
  await ask(gateway, 'GET / HTTP/1.1')
  assert.match(backend.connections[0]!.received, `\r\nx-backend: ${KEY}0 static http\r\n`)
})

facts('a response header can contain the name of the backend that was chosen', async () => {
  const backends = [await answering('0'), await answering('1')]
  const policies = `transformations: { response: { set: { x-backend: backend.name } } }`
  const gateway = await stage.gateway(
    routeOf(
      backends.map((backend) => host(backend)),
      policies,
    ),
  )
  for (let at = 0; at < 20; at++) {
    const { headers, body } = await ask(gateway, 'GET / HTTP/1.1')
    assert.is(headers['x-backend'], KEY + body)
  }
})

facts('a retry reads the backend of the retry', async () => {
  const down = await stage.backend([])
  const closedHost = host(down)
  await down.close()
  const up = await answering('hello')
  // With this weight and 10 retries, practically no request fails on the closed backend eleven times.
  const openHost = host(up).replace('{', '{ weight: 3,')
  const policies = `retry: { attempts: 10, backoff: 1ms }, transformations: { response: { set: { x-backend: backend.name } } }`
  const gateway = await stage.gateway(routeOf([closedHost, openHost], policies))
  for (let at = 0; at < 12; at++) {
    const { status, headers } = await ask(gateway, 'GET / HTTP/1.1')
    assert.equal([status, headers['x-backend']], [200, `${KEY}1`])
  }
})

facts('a rule of the route, before the choice, reads no backend and does not match', async () => {
  const backend = await answering('hello')
  const rule = `authorization: { rules: ['backend.type == "static"'] }`
  const gateway = await stage.gateway(routeOf([host(backend)], rule))
  assert.is((await ask(gateway, 'GET / HTTP/1.1')).status, 403)
})

facts('a policy that answers without a backend reads none', async () => {
  const policies = `directResponse: { status: 200 }, transformations: { response: { set: { x-backend: backend.name, x-known: 'has(backend.name)' } } }`
  const backend = await answering('hello')
  const gateway = await stage.gateway(routeOf([host(backend)], policies))
  const { headers } = await ask(gateway, 'GET / HTTP/1.1')
  assert.equal([headers['x-backend'], headers['x-known']], [undefined, 'false'])
})

facts('rules of MCP and LLM backends read the name of their backend', async () => {
  const policies = `mcpAuthorization: { rules: ['backend.type == "mcp" && backend.protocol == "mcp"'] }`
  const [, client] = await begin(stage, { targets: [server('one')], policies })
  assert.is(await client.textOf('echo', { text: 'hi' }), 'hi')
  const rule = `authorization: { rules: ['${ALL} == "${KEY}0 ai llm"'] }`
  const mock = `{ ai: { name: mock, provider: { mock: {} } }, policies: { ${rule} } }`
  const gateway = await stage.gateway(routeOf([mock]))
  assert.is((await ask(gateway, 'GET http://localhost/v1/models HTTP/1.1')).status, 200)
})

facts.run()
