// The protocol's own conformance suite: what our fixture passes by itself it must pass behind the gateway, in both ways to
// write it down.

import { createRequire } from 'node:module'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Folder } from '../support/folder.ts'
import { judge } from '../support/mcp/conformance-suite.ts'
import type { Verdict } from '../support/mcp/conformance-suite.ts'
import { FIXTURE, Judged, ownPort, routed } from '../support/mcp/judged.ts'
import { run } from '../support/mcp/run.ts'

const CHECKS = 40
/** Of the scenarios that the suite does not count yet: those of a schema that must cross unchanged. */
const PENDING_CHECKS = 4
/** The last for Node 20 is installed; this one needs what came with Node 22. */
const NEWER = '@modelcontextprotocol/conformance@0.1.16'
const INSTALL_MS = 60_000

const program = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/conformance/dist/index.js',
)

const LAYOUTS = {
  'on a port of its own': ownPort(FIXTURE),
  'on a route': routed({ '/mcp': [FIXTURE] }),
}

async function withJudged(
  starting: Promise<Judged>,
  use: (url: URL) => Promise<void>,
): Promise<void> {
  const judged = await starting
  try {
    await use(judged.url())
  } finally {
    await judged.close()
  }
}

function assertNothingLost({ passed, failed }: Verdict, alone: readonly string[]): void {
  assert.equal(failed, [])
  assert.equal(
    alone.filter((check) => !passed.includes(check)),
    [],
  )
}

const conformance = suite('MCP conformance')

/** Those that the fixture passes by itself. */
let alone: readonly string[]

conformance(`passes ${CHECKS} checks without a gateway`, async () => {
  await withJudged(Judged.alone(), async (url) => {
    const { passed, failed } = await judge(program, url)
    assert.equal(failed, [])
    assert.is(passed.length, CHECKS)
    alone = passed
  })
})

for (const [where, configOf] of Object.entries(LAYOUTS))
  conformance(`passes them all behind the gateway, ${where}`, async () => {
    await withJudged(Judged.start(configOf), async (url) => {
      const verdict = await judge(program, url)
      assertNothingLost(verdict, alone)
      assert.is(verdict.passed.length, CHECKS)
    })
  })

conformance('passes what the suite does not count yet', async () => {
  await withJudged(Judged.start(LAYOUTS['on a route']), async (url) => {
    const { passed, failed } = await judge(program, url, '--suite', 'pending')
    assert.equal(failed, [])
    assert.ok(passed.length >= PENDING_CHECKS, passed.join())
  })
})

conformance('passes the newer suite on a newer Node', async () => {
  const skip = (why: string): void => void process.stderr.write(`skipped ${NEWER}: ${why}\n`)
  const [major] = process.versions.node.split('.')
  if (Number(major) < 22) return skip(`needs Node 22, this is ${process.version}`)
  const folder = new Folder()
  try {
    const words = ['install', '--prefix', folder.path, '--no-audit', '--no-fund', NEWER]
    const { code, stderr } = await run('npm', words, INSTALL_MS)
    if (code !== 0) return skip(`cannot be installed: ${stderr.trim()}`)
    const newer = folder.at('node_modules/@modelcontextprotocol/conformance/dist/index.js')
    let expected: readonly string[] = []
    await withJudged(Judged.alone(), async (url) => {
      expected = (await judge(newer, url)).passed
    })
    assert.is(expected.length, CHECKS)
    await withJudged(Judged.start(LAYOUTS['on a route']), async (url) =>
      assertNothingLost(await judge(newer, url), expected),
    )
  } finally {
    folder.close()
  }
})

conformance.run()
