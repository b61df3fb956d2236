// Clients of the second SDK through the gateway, in every protocol version that both support.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addChecks, withClients } from '../support/mcp/checks.ts'
import type { Judging } from '../support/mcp/checks.ts'
import { connectV2 } from '../support/mcp/client-v2.ts'
import { FIXTURE, judgedFor, routed } from '../support/mcp/judged.ts'
import { addServerChecks, npmServers } from '../support/mcp/server-checks.ts'

const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

const v2 = suite('MCP SDK v2')
const judged = judgedFor(v2, (port, folder) =>
  routed({ '/mcp': [FIXTURE], ...npmServers(folder) })(port),
)

const current: Judging = {
  label: 'client',
  connect: connectV2,
  url: async () => (await judged()).url(),
}

addChecks(v2, current)
addServerChecks(v2, connectV2, judged)

for (const version of VERSIONS)
  v2(`speaks ${version} with those who ask for it`, async () => {
    const judging: Judging = {
      ...current,
      connect: (url, answers) => connectV2(url, answers, { supportedProtocolVersions: [version] }),
    }
    await withClients(judging, ['ada'], async (ada) => {
      assert.is(ada?.version, version)
      assert.is((await ada?.call('echo', { text: version }))?.text, version)
    })
  })

v2('falls back from the version to come to the one there is', async () => {
  const judging: Judging = {
    ...current,
    connect: (url, answers) => connectV2(url, answers, { versionNegotiation: { mode: 'auto' } }),
  }
  await withClients(judging, ['ada'], async (ada) => {
    assert.is(ada?.version, '2025-11-25')
    assert.is((await ada?.call('echo', { text: 'hello' }))?.text, 'hello')
  })
})

v2('ends its session', async () => {
  await withClients(current, ['ada'], async (ada) => {
    assert.ok(ada!.sessionId)
    await ada!.terminate()
    assert.is(ada!.sessionId, undefined)
  })
})

v2.run()
