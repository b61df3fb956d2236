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
  '^(bin|ctl|front|workers)/',
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
  readonly passed: number
  readonly failed: number
}

function wordsOf(piece: string): string[] {
  if (piece === CONFORMANCE) return ['dist/conformance/run.js', part]
  const ignored = PIECES.slice(0, PIECES.indexOf(piece)).flatMap((earlier) => ['-i', earlier])
  return [uvu, 'dist/spec', `(?:${piece}).*(?:${part}).*\\.spec\\.js$`, color, ...ignored]
}

function run(piece: string): Promise<Result> {
  const startedAt = performance.now()
  const all = [...PIECES, CONFORMANCE]
  const child = spawn(process.execPath, wordsOf(piece), {
    cwd: ROOT,
    // Two that looked for a free port at the same time found the same one.
    env: { ...process.env, SPEC_PORTS: `${all.indexOf(piece)}/${all.length}` },
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
      const result = resultOf(text, code)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
      // Nothing is said of one in which nothing matched.
      const isEmpty = result.failed === 0 && /Total:\s+0\s/.test(text)
      if (!isEmpty) process.stdout.write(`${text}${piece}: ${seconds} s\n`)
      resolve(result)
    })
  })
}

/** One that ended otherwise than by what it counted has failed too: a file that cannot be imported takes all others with it. */
function resultOf(text: string, code: number | null): Result {
  const countOf = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text.slice(-500))?.[1] ?? 0)
  const passed = countOf('Passed')
  const failed = countOf('Total') - passed
  return { passed, failed: failed === 0 && code !== 0 ? 1 : failed }
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
const specs = [...results].filter(([piece]) => piece !== CONFORMANCE).map(([, result]) => result)
const passed = specs.reduce((sum, result) => sum + result.passed, 0)
const failed = specs.reduce((sum, result) => sum + result.failed, 0)
process.stdout.write(`specs: ${passed} passed, ${failed} failed\n`)
const isConform = (results.get(CONFORMANCE)?.failed ?? 0) === 0
process.exitCode = isConform && failed === 0 && passed > 0 ? 0 : 1
