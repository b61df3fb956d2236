// One run of the conformance suite against a server: the passed checks, and the failures.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Folder } from '../folder.ts'
import { run } from './run.ts'

const WAIT_MS = 90_000

export interface Verdict {
  /** Each as `scenario check`, sorted. */
  readonly passed: readonly string[]
  /** Each as `scenario check`, with its error. */
  readonly failed: readonly string[]
}

interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO'
  errorMessage?: string
}

/** `program` is the program of the suite. */
export async function judge(program: string, url: URL): Promise<Verdict> {
  const folder = new Folder()
  try {
    const words = [program, 'server', '--url', url.href, '-o', folder.path, '--suite', 'all']
    const { stdout, stderr } = await run(process.execPath, words, WAIT_MS)
    const verdict = verdictOf(folder.path)
    // A crashed suite reports neither checks nor failures.
    if (!/^Total: \d+ passed/m.test(stdout)) throw new Error(`no verdict:\n${stdout}${stderr}`)
    return verdict
  } finally {
    folder.close()
  }
}

/** The suite writes one folder per scenario: `server-ping-2025-11-25T…`. */
function verdictOf(path: string): Verdict {
  const passed: string[] = []
  const failed: string[] = []
  for (const name of readdirSync(path)) {
    const scenario = name.replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, '')
    const checks = JSON.parse(readFileSync(join(path, name, 'checks.json'), 'utf8')) as Check[]
    for (const { id, status, errorMessage = '' } of checks) {
      if (status === 'SUCCESS') passed.push(`${scenario} ${id}`)
      if (status === 'FAILURE') failed.push(`${scenario} ${id}: ${errorMessage}`)
    }
  }
  return { passed: passed.sort(), failed: failed.sort() }
}
