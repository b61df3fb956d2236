// The command line of the MCP inspector, with which users try a new server.

import { createRequire } from 'node:module'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FIXTURE, judgedFor, ownPort } from '../support/mcp/judged.ts'
import { run } from '../support/mcp/run.ts'

const WAIT_MS = 30_000

const program = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/inspector-cli/build/cli.js',
)

const inspector = suite('MCP inspector')
const judged = judgedFor(inspector, ownPort(FIXTURE))

/** The result that the inspector prints. It only starts if the parent folder has a package.json. */
async function inspect(...args: string[]): Promise<unknown> {
  const target = ['--cli', (await judged()).url().href, '--transport', 'http']
  const { code, stdout, stderr } = await run(
    process.execPath,
    [program, ...target, ...args],
    WAIT_MS,
  )
  assert.is(code, 0, stderr)
  return JSON.parse(stdout)
}

inspector('lists tools', async () => {
  const { tools } = (await inspect('--method', 'tools/list')) as { tools: { name: string }[] }
  assert.ok(tools.some(({ name }) => name === 'echo'))
})

inspector('calls a tool', async () => {
  const args = ['--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'text=hello']
  assert.equal(await inspect(...args), { content: [{ type: 'text', text: 'hello' }] })
})

inspector('reads a resource', async () => {
  const args = ['--method', 'resources/read', '--uri', 'test://static-text']
  assert.match(JSON.stringify(await inspect(...args)), /content of the static text resource/)
})

inspector.run()
