// Runs the cases against the built gateway. Exits 1 when a case fails that is not expected to, or when one
// that is expected to fail no longer does.
//   node dist/conformance/run.js [--gateway <command>] [part of a path or title]…

import { readFileSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { parseCaseFile } from './case-file.ts'
import type { CaseFile } from './case-file.ts'
import { play } from './play.ts'
import type { Result } from './play.ts'
import { Stage } from './stage.ts'

const CASES = 'conformance/cases'
const EXPECTED_FAILURES = 'conformance/expected-failures.yaml'
/** Each file has its own gateway and ports; most of the time is spent starting processes. */
const FILES_AT_ONCE = Math.min(4, availableParallelism())
const BUILT = fileURLToPath(new URL('../bin/gateway.js', import.meta.url))

interface ExpectedFailure {
  case: string
  reason: string
}

const { command, filters } = parseArguments(process.argv.slice(2))
const expected = (parse(readFileSync(EXPECTED_FAILURES, 'utf8')) ?? []) as ExpectedFailure[]
const count = { passed: 0, failed: 0, skipped: 0 }
const failed = new Set<string>()
const seen = new Set<string>()

const files = listCaseFiles().map((path) => {
  const file = parseCaseFile(relative(CASES, path), readFileSync(path, 'utf8'))
  file.cases = file.cases.filter(({ title }) => isSelected(`${file.path} > ${title}`))
  return file
})
await Promise.all(Array.from({ length: FILES_AT_ONCE }, runFiles))

const stale = expected.filter((entry) => isSelected(entry.case) && !failed.has(entry.case))
for (const { case: name } of stale)
  console.log(`stale in ${EXPECTED_FAILURES}: ${name} ${seen.has(name) ? 'passes' : 'is no case'}`)
const unexpected = [...failed].filter((name) => !expected.some((entry) => entry.case === name))
for (const name of unexpected) console.log(`failed: ${name}`)
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
process.exitCode = stale.length + unexpected.length > 0 ? 1 : 0

async function runFiles(): Promise<void> {
  for (let file = files.shift(); file !== undefined; file = files.shift()) await runFile(file)
}

async function runFile(file: CaseFile): Promise<void> {
  const stage = new Stage(file, command)
  try {
    for (const aCase of file.cases) {
      const name = `${file.path} > ${aCase.title}`
      seen.add(name)
      const result = await play(aCase, stage).catch((error: unknown): Result => ({
        status: 'failed',
        wrong: [String(error)],
      }))
      count[result.status]++
      if (result.status === 'failed') failed.add(name)
      report(name, result)
    }
  } finally {
    await stage.close()
  }
}

function report(name: string, result: Result): void {
  if (result.status === 'passed') console.log(`ok    ${name}`)
  else if (result.status === 'skipped') console.log(`skip  ${name} (${result.reason})`)
  else {
    const entry = expected.find(({ case: known }) => known === name)
    console.log(entry === undefined ? `FAIL  ${name}` : `known ${name} (${entry.reason})`)
    if (entry === undefined)
      for (const what of result.wrong) console.log(what.replace(/^/gm, '      '))
  }
}

function listCaseFiles(): string[] {
  return readdirSync(CASES, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => join(CASES, name))
}

function isSelected(name: string): boolean {
  return filters.length === 0 || filters.some((filter) => name.includes(filter))
}

function parseArguments(args: string[]): { command: string[]; filters: string[] } {
  const at = args.indexOf('--gateway')
  if (at < 0) return { command: [process.execPath, BUILT], filters: args }
  const command = (args[at + 1] ?? '').split(' ')
  return { command, filters: args.filter((_arg, index) => index !== at && index !== at + 1) }
}
