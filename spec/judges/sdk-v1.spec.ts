// Clients of the first SDK through the gateway: over Streamable HTTP, and over the legacy transport at /sse.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addChecks, withClients } from '../support/mcp/checks.ts'
import type { Judging } from '../support/mcp/checks.ts'
import { connectLegacy, connectV1 } from '../support/mcp/client-v1.ts'
import { FIXTURE, judgedFor, routed } from '../support/mcp/judged.ts'
import { addServerChecks, npmServers } from '../support/mcp/server-checks.ts'

const v1 = suite('MCP SDK v1')
const judged = judgedFor(v1, (port, folder) =>
  routed({ '/mcp /sse': [FIXTURE], ...npmServers(folder) })(port),
)

const current: Judging = {
  label: 'client',
  connect: connectV1,
  url: async () => (await judged()).url(),
}
const legacy: Judging = {
  label: 'legacy client',
  connect: connectLegacy,
  url: async () => (await judged()).url('/sse'),
}

addChecks(v1, current)
addChecks(v1, legacy)
addServerChecks(v1, connectV1, judged)

v1('speaks the latest version that both sides know', async () => {
  await withClients(current, ['ada'], async (ada) => assert.is(ada?.version, '2025-11-25'))
})

v1('keeps its own session until it ends it', async () => {
  await withClients(current, ['ada', 'bob'], async (ada, bob) => {
    const { sessionId = '' } = ada!
    assert.is.not(sessionId, '')
    assert.is.not(sessionId, bob!.sessionId)
    await ada!.terminate()
    assert.is(await statusOf(sessionId), 404)
    assert.is((await bob!.call('echo', { text: 'still here' })).text, 'still here')
  })
})

async function statusOf(sessionId: string): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': sessionId,
  }
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  const response = await fetch((await judged()).url(), { method: 'POST', headers, body })
  await response.body?.cancel()
  return response.status
}

v1.run()
