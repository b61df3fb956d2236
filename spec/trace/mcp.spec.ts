// MCP in a trace: where messages go, who may use what, and calls to remote targets in a scope of their own.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { begin, McpClient, mcpText, server } from '../forward/mcp/mcp-client.ts'
import { SdkServer } from '../forward/mcp/remote/sdk-server.ts'
import { Stage } from '../support/gateway.ts'
import { Watched } from '../support/watched.ts'

const trace = suite('trace of MCP backends')
const stage = new Stage()
trace.after.each(() => stage.clear())

function behind(watched: Watched): string[] {
  const list = watched.list()
  return list.slice(list.indexOf('policySelection backend') + 1)
}

const END = ['responseSnapshot final response', 'bodySnapshot response', 'requestFinished']

trace('a call of a child process: where it went, and no HTTP call', async () => {
  const [gateway, client] = await begin(stage)
  const watched = Watched.at(gateway)
  await (await client.call('echo', { text: 'hi' })).whole()
  await watched.all()
  assert.equal(behind(watched), ['mcpMessage', ...END])
  assert.equal(watched.the('mcpMessage'), {
    type: 'mcpMessage',
    method: 'tools/call',
    target: 'one',
    session: client.session.slice(0, 8),
  })
  const mcp = watched.state('responseSnapshot final response', 'mcp')
  assert.is(mcp['methodName'], 'tools/call')
  assert.is(mcp['sessionId'], `${client.session.slice(0, 8)}…`)
  assert.equal(watched.state('responseSnapshot final response', 'backend')['type'], 'mcp')
})

trace('the start of a session and a notification name their targets', async () => {
  const gateway = await stage.gateway(mcpText({ targets: [server('one'), server('two')] }))
  const watchers = [Watched.at(gateway), Watched.at(gateway), Watched.at(gateway)]
  const client = await McpClient.open(stage, gateway)
  await (await client.ask('tools/list')).whole()
  const targets = []
  for (const watched of watchers) {
    const events = await watched.all()
    const messages = events.filter(({ message }) => message.type === 'mcpMessage')
    targets.push(messages.map(({ message }) => [message['method'], message['target']]))
  }
  assert.equal(targets, [
    [
      ['initialize', 'one'],
      ['initialize', 'two'],
    ],
    [
      ['notifications/initialized', 'one'],
      ['notifications/initialized', 'two'],
    ],
    [
      ['tools/list', 'one'],
      ['tools/list', 'two'],
    ],
  ])
})

trace('what may not be used, and by which rule', async () => {
  const policies = `mcpAuthorization: { rules: ['mcp.tool.name == "pid"'] }`
  const [gateway, client] = await begin(stage, { policies })
  const watched = Watched.at(gateway)
  const answer = await (await client.call('echo', { text: 'hi' })).whole()
  assert.is(answer.status, 400)
  await watched.all()
  assert.equal(behind(watched), ['authorizationResult', ...END])
  assert.equal(watched.the('authorizationResult')['rules'], [
    { name: 'mcp.tool.name == "pid"', mode: 'require', matched: false },
  ])
})

trace('a remote target is called in its scope', async () => {
  const sdk = await SdkServer.start(stage)
  const gateway = await stage.gateway(
    mcpText({ targets: [`{ name: far, mcp: { host: "http://127.0.0.1:${sdk.port}/mcp" } }`] }),
  )
  const client = await McpClient.open(stage, gateway)
  const watched = Watched.at(gateway)
  await (await client.ask('ping')).whole()
  await watched.all()
  assert.equal(behind(watched), [
    'mcpMessage',
    'far: requestSnapshot final request',
    'far: backendCallStart',
    'far: bodySnapshot final request',
    'far: backendCallResult',
    'far: responseSnapshot raw response',
    'far: responseSnapshot backend response ready',
    ...END,
  ])
  assert.is(watched.the('far: backendCallStart')['target'], `127.0.0.1:${sdk.port}`)
  const sent = watched.state('far: requestSnapshot final request', 'request')
  assert.is(sent['path'], '/mcp')
  assert.is(sent['method'], 'POST')
  const { body } = watched.the('far: bodySnapshot final request')
  assert.match(Buffer.from(String(body), 'base64').toString(), '"method":"ping"')
})

trace('a remote target that is not there', async () => {
  const gateway = await stage.gateway(
    mcpText({ targets: ['{ name: far, mcp: { host: "http://127.0.0.1:1/mcp" } }'] }),
  )
  const watched = Watched.at(gateway)
  const client = new McpClient(stage, gateway)
  await (await client.initialize()).whole()
  await watched.all()
  const { status, error } = watched.the('far: backendCallResult')
  assert.is(status, null)
  assert.match(String(error), /^upstream call failed: /)
  assert.is(watched.list().at(-1), 'requestFinished')
})

trace.run()
