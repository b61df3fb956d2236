// Runs the specs in several processes at once, prints one line for each process, and repeats every failure at the end.
//   node dist/spec/run.js [--judges] [--lint] [--conformance] [--slow] [part of a path]
// --judges runs the specs that need other programs or minutes instead of the others. --slow lists the slowest files.

import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { ROOT } from './support/root.ts'

/** uvu has no time-out. A process that prints nothing for so long hangs; no single test takes a tenth of it. */
const SILENT_MS = 900_000

/** Most processes spend half of their time waiting for others. */
const AT_ONCE = Math.min(8, 2 * availableParallelism())

const SLOWEST_FILES = 25

/** Folders whose specs need Java, Go, a browser, a terminal, other projects' suites, or a minute for one test. */
const JUDGES = '^(judges|soak)/'

/** The longest first, so that all end at the same time. A file belongs to the first piece that it matches. */
const SPEC_PIECES = [
  '^bin/',
  '^forward/mcp/',
  '^(core|text|http|expressions)/',
  '^(config|ctl|trace-view)/',
  '^enforce/',
  '^forward/llm/',
  '^processes/',
  '^(faults|fuzz)/',
  '^(forward|settle|trace)/',
  '^(admin|page)/',
  '^',
]
const JUDGE_PIECES = [
  '^judges/(browser|ui)/',
  '^soak/',
  '^judges/(conformance|sdk)',
  '^judges/auth/',
  '^judges/(pprof|rate-limit)',
  '^judges/',
]

const LINT = 'lint'
const CONFORMANCE = 'conformance'

const uvu = join(ROOT, 'node_modules/uvu/bin.js')
const color = process.stdout.isTTY ? '--color' : '--no-color'
const options = process.argv.slice(2)
const part = options.find((option) => !option.startsWith('--')) ?? ''

interface Result {
  readonly piece: string
  readonly passed: number
  readonly failed: number
  /** Names of the failed tests, and why others did not run. */
  readonly failures: readonly string[]
  readonly skips: readonly string[]
  /** Seconds by file. */
  readonly files: ReadonlyMap<string, number>
}

function commandOf(piece: string, pieces: readonly string[]): string[] {
  if (piece === LINT) return ['npm', 'run', '--silent', 'lint']
  if (piece === CONFORMANCE) return [process.execPath, 'dist/conformance/run.js', part]
  const earlier = pieces.slice(0, pieces.indexOf(piece)).filter((name) => name.startsWith('^'))
  const ignored = options.includes('--judges') ? earlier : [JUDGES, ...earlier]
  const pattern = `^(?=.*(?:${part}))(?=${piece}).*\\.spec\\.js$`
  return [process.execPath, uvu, 'dist/spec', pattern, color, ...ignored.flatMap((i) => ['-i', i])]
}

/** The folders of a piece, without the signs of its pattern. */
function nameOf(piece: string): string {
  return piece === '^' ? 'all others' : piece.replace(/^\^/, '').replaceAll(/[()/]/g, ' ').trim()
}

async function runPiece(piece: string, pieces: readonly string[]): Promise<Result> {
  const startedAt = performance.now()
  const [program = '', ...args] = commandOf(piece, pieces)
  const child = spawn(program, args, {
    cwd: ROOT,
    // Two processes that look for a free port at the same time would find the same one.
    env: { ...process.env, SPEC_PORTS: `${pieces.indexOf(piece)}/${pieces.length}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Without this the process would continue after the runner was ended.
  const end = (): boolean => child.kill('SIGKILL')
  process.on('SIGTERM', end)
  let text = ''
  let errors = ''
  const files = new FileTimes()
  const timer = setTimeout(() => {
    text += `\n FAIL  ${nameOf(piece)}: printed nothing for ${SILENT_MS / 1000} s\n`
    child.kill('SIGKILL')
  }, SILENT_MS)
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more
    files.note(more)
    timer.refresh()
  })
  child.stderr.setEncoding('utf8').on('data', (more: string) => (errors += more))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  clearTimeout(timer)
  process.off('SIGTERM', end)
  const result = { ...readResult(piece, text, code), skips: skipsIn(errors), files: files.end() }
  printResult(result, text + errors, performance.now() - startedAt)
  return result
}

/** uvu prints the name of a file when its first test starts. */
class FileTimes {
  readonly #seconds = new Map<string, number>()
  #file = ''
  #since = 0

  note(text: string): void {
    const [, file] = /^(\S+\.spec\.js)$/m.exec(stripVTControlCharacters(text)) ?? []
    if (file === undefined) return
    this.end()
    this.#file = file
    this.#since = performance.now()
  }

  end(): ReadonlyMap<string, number> {
    if (this.#file !== '') this.#seconds.set(this.#file, (performance.now() - this.#since) / 1000)
    return this.#seconds
  }
}

/** A process that exits with an error has failed, whatever it counted: a file may not have been imported. */
function readResult(
  piece: string,
  text: string,
  code: number | null,
): Pick<Result, 'piece' | 'passed' | 'failed' | 'failures'> {
  const plain = stripVTControlCharacters(text)
  const found = [...plain.matchAll(/^\s*FAIL\s+(.*\S)/gm)].map(
    ([, name]) => `${nameOf(piece)}: ${name}`,
  )
  const counted = (pattern: RegExp): number => Number(pattern.exec(plain.slice(-500))?.[1] ?? 0)
  const isCases = piece === CONFORMANCE
  const passed = counted(isCases ? /(\d+) passed, / : /Passed:\s+(\d+)/)
  const lost = isCases ? found.length : counted(/Total:\s+(\d+)/) - passed
  const failed = code === 0 ? 0 : Math.max(1, lost)
  const failures =
    failed > 0 && found.length === 0 ? [`${nameOf(piece)}: exit code ${code}`] : found
  return { piece, passed, failed, failures: failed > 0 ? failures : [] }
}

function skipsIn(errors: string): string[] {
  return errors.split('\n').filter((line) => line.startsWith('skipped '))
}

/** Everything that a process printed is shown when it failed, or when only a part of the specs was asked for. */
function printResult({ piece, passed, failed, skips }: Result, text: string, ms: number): void {
  const isEmpty = failed === 0 && passed === 0 && piece !== LINT
  if (isEmpty && skips.length === 0) return
  if (failed > 0 || part !== '') process.stdout.write(`${text}\n`)
  const count = piece === LINT ? '' : `${String(passed).padStart(5)} of ${passed + failed}`
  const words = [failed > 0 ? 'FAIL' : 'ok  ', nameOf(piece).padEnd(26), count.padEnd(14)]
  process.stdout.write(`${words.join(' ')}${(ms / 1000).toFixed(0).padStart(5)} s\n`)
}

async function runAll(pieces: readonly string[]): Promise<Result[]> {
  const left = [...pieces]
  process.on('SIGTERM', () => left.splice(0))
  const results: Result[] = []
  const runNext = async (): Promise<void> => {
    for (let piece = left.shift(); piece !== undefined; piece = left.shift())
      results.push(await runPiece(piece, pieces))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runNext))
  return results
}

function printSlowest(results: readonly Result[]): void {
  const files = results.flatMap(({ files }) => [...files])
  const slowest = files.toSorted(([, a], [, b]) => b - a).slice(0, SLOWEST_FILES)
  for (const [file, seconds] of slowest)
    process.stdout.write(`${seconds.toFixed(1).padStart(7)} s  ${file}\n`)
}

/** The lines `<name>: n passed, n failed` are what a program can read. */
function printTotals(results: readonly Result[]): void {
  for (const line of results.flatMap(({ skips }) => skips)) process.stdout.write(`${line}\n`)
  for (const name of results.flatMap(({ failures }) => failures))
    process.stdout.write(`failed: ${name}\n`)
  const sum = (name: string, some: readonly Result[]): void => {
    const passed = some.reduce((total, result) => total + result.passed, 0)
    const failed = some.reduce((total, result) => total + result.failed, 0)
    if (some.length > 0) process.stdout.write(`${name}: ${passed} passed, ${failed} failed\n`)
  }
  const only = (piece: string): Result[] => results.filter((result) => result.piece === piece)
  if (only(LINT).some(({ failed }) => failed > 0)) sum(LINT, only(LINT))
  sum(CONFORMANCE, only(CONFORMANCE))
  const specs = results.filter(({ piece }) => piece !== LINT && piece !== CONFORMANCE)
  sum(options.includes('--judges') ? 'judges' : 'specs', specs)
}

const pieces = [
  ...(options.includes('--conformance') ? [CONFORMANCE] : []),
  ...(options.includes('--lint') ? [LINT] : []),
  ...(options.includes('--judges') ? JUDGE_PIECES : SPEC_PIECES),
]
const results = await runAll(pieces)
if (options.includes('--slow')) printSlowest(results)
printTotals(results)
const hasFailed = results.some(({ failed }) => failed > 0)
process.exitCode = hasFailed || results.every(({ passed }) => passed === 0) ? 1 : 0
