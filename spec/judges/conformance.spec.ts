// The MCP conformance suite: every check that the fixture passes directly must also pass through the gateway, in both
// configuration layouts.

import { createRequire } from 'node:module'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Folder } from '../support/folder.ts'
import { judge } from '../support/mcp/conformance-suite.ts'
import type { Verdict } from '../support/mcp/conformance-suite.ts'
import { FIXTURE, Judged, ownPort, routed } from '../support/mcp/judged.ts'
import { run } from '../support/mcp/run.ts'
import { reportSkip } from '../support/report-skip.ts'

/** 40 checks that the suite counts, and 4 of scenarios that it contains but does not count yet. */
const CHECKS = 44
/** The installed version is the last one for Node 20; this one needs Node 22. */
const NEWER = '@modelcontextprotocol/conformance@0.1.16'
const INSTALL_MS = 60_000

const program = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/conformance/dist/index.js',
)

const LAYOUTS = {
  'on a port of its own': ownPort(FIXTURE),
  'on a route': routed({ '/mcp': [FIXTURE] }),
}

/** Runs a version of the suite against a gateway, or directly against the fixture. */
async function verdictOn(starting: Promise<Judged>, suiteOf: string): Promise<Verdict> {
  const judged = await starting
  try {
    return await judge(suiteOf, judged.url())
  } finally {
    await judged.close()
  }
}

/** Checks that fail through the gateway, or that are expected and did not run, by configuration. */
async function problemsOf(
  suiteOf: string,
  expected: readonly string[],
  configs: Record<string, (port: number) => object>,
): Promise<string[]> {
  const problems = Object.entries(configs).map(async ([where, configOf]) => {
    const { passed, failed } = await verdictOn(Judged.start(configOf), suiteOf)
    const lost = expected.filter((check) => !passed.includes(check))
    return [...failed, ...lost].map((check) => `${where}: ${check}`)
  })
  // In parallel: a run mostly waits for its child processes.
  return (await Promise.all(problems)).flat()
}

const conformance = suite('MCP conformance')

/** The checks that the fixture passes without a gateway. */
let alone: readonly string[] = []

conformance(`passes ${CHECKS} checks without a gateway`, async () => {
  const { passed, failed } = await verdictOn(Judged.alone(), program)
  assert.equal(failed, [])
  assert.is(passed.length, CHECKS)
  alone = passed
})

conformance('passes the same checks through the gateway, in either layout', async () => {
  assert.is(alone.length, CHECKS)
  assert.equal(await problemsOf(program, alone, LAYOUTS), [])
})

conformance('passes the same checks with a remote server, over either transport', async () => {
  const far = await Judged.alone()
  const at = (path: string): { host: string } => ({ host: far.url(path).href })
  try {
    const configs = {
      'Streamable HTTP': routed({ '/mcp': [{ name: 'far', mcp: at('/mcp') }] }),
      'HTTP+SSE': routed({ '/mcp': [{ name: 'far', sse: at('/sse') }] }),
    }
    assert.is(alone.length, CHECKS)
    assert.equal(await problemsOf(program, alone, configs), [])
  } finally {
    await far.close()
  }
})

conformance('passes the newer suite on Node 22 and later', async () => {
  const skip = (why: string): void => reportSkip(NEWER, why)
  const [major] = process.versions.node.split('.')
  if (Number(major) < 22) return skip(`needs Node 22, this is ${process.version}`)
  const folder = new Folder()
  try {
    const words = ['install', '--prefix', folder.path, '--no-audit', '--no-fund', NEWER]
    const { code, stderr } = await run('npm', words, INSTALL_MS)
    if (code !== 0) return skip(`cannot be installed: ${stderr.trim()}`)
    const newer = folder.at('node_modules/@modelcontextprotocol/conformance/dist/index.js')
    const { passed } = await verdictOn(Judged.alone(), newer)
    assert.is(passed.length, CHECKS)
    assert.equal(await problemsOf(newer, passed, { 'on a route': LAYOUTS['on a route'] }), [])
  } finally {
    folder.close()
  }
})

conformance.run()
