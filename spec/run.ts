// Runs all specs, some at a time in processes of their own, and ends those that hang: uvu has no time-out, and a server or
// child that a spec left open would keep its process alive for ever.
//   node dist/spec/run.js [--conformance] [part of a path]

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from './support/root.ts'

const MOST_MS = 480_000

/** Those that wait for other processes leave the processor to the others. */
const AT_ONCE = 4

/** What takes longest begins first, so that all end together. A file is of the first piece that it fits. */
const PIECES = [
  '^judges/ui',
  '^soak',
  '^judges/(conformance|sdk)',
  '^judges/auth',
  '^forward/mcp',
  '^(faults|fuzz)/',
  '^judges',
  '^(bin|ctl|workers)/',
  '^enforce',
  '^(forward|ui)/',
  '^',
]

/** The cases for any gateway, against the one that was built: a piece like the others, but a long one. */
const CONFORMANCE = 'conformance'
const CONFORMANCE_AT = 2

const uvu = join(ROOT, 'node_modules/uvu/bin.js')
const color = process.stdout.isTTY ? '--color' : '--no-color'
const words = process.argv.slice(2)
const part = words.find((word) => !word.startsWith('--')) ?? ''

interface Result {
  readonly total: number
  readonly passed: number
  readonly code: number | null
}

function wordsOf(piece: string): string[] {
  if (piece === CONFORMANCE) return ['dist/conformance/run.js', part]
  const ignored = PIECES.slice(0, PIECES.indexOf(piece)).flatMap((earlier) => ['-i', earlier])
  return [uvu, 'dist/spec', `(?:${piece}).*(?:${part}).*\\.spec\\.js$`, color, ...ignored]
}

function run(piece: string): Promise<Result> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, wordsOf(piece), {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const timer = setTimeout(() => {
    process.stderr.write(`specs ${piece}: not over after ${MOST_MS / 1000} s, ended\n`)
    child.kill('SIGKILL')
  }, MOST_MS)
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (more: string) => (text += more))
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
      process.stdout.write(`${text}${piece}: ${seconds} s\n`)
      const countOf = (name: string): number =>
        Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text.slice(-500))?.[1] ?? 0)
      resolve({ total: countOf('Total'), passed: countOf('Passed'), code })
    })
  })
}

async function runAll(pieces: string[]): Promise<Map<string, Result>> {
  const results = new Map<string, Result>()
  const runSome = async (): Promise<void> => {
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift())
      results.set(piece, await run(piece))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runSome))
  return results
}

const cases = words.includes('--conformance') ? [CONFORMANCE] : []
const results = await runAll(PIECES.toSpliced(CONFORMANCE_AT, 0, ...cases))
const hasPassed = (results.get(CONFORMANCE)?.code ?? 0) === 0
results.delete(CONFORMANCE)
const specs = [...results.values()]
const total = specs.reduce((sum, result) => sum + result.total, 0)
const passed = specs.reduce((sum, result) => sum + result.passed, 0)
process.stdout.write(`specs: ${passed} passed, ${total - passed} failed\n`)
// A piece in which nothing matched is fine, but not all of them.
const isGood = specs.every(({ code, total: count }) => code === 0 || count === 0)
process.exitCode = hasPassed && isGood && total > 0 && passed === total ? 0 : 1
