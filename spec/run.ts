// Runs all specs, some at a time in processes of their own, and ends those that hang: uvu has no time-out, and a server or
// child that a spec left open would keep its process alive for ever.
//   node dist/spec/run.js [part of a path]

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from './support/root.ts'

const MOST_MS = 480_000

/** Most of their time specs wait for other processes: what is slow runs beside the rest. */
const BATCHES = ['^judges', '^forward', '^(?!judges|forward)']

const uvu = join(ROOT, 'node_modules/uvu/bin.js')
const color = process.stdout.isTTY ? '--color' : '--no-color'
const [part = ''] = process.argv.slice(2)

interface Result {
  readonly total: number
  readonly passed: number
  readonly code: number | null
}

function run(batch: string): Promise<Result> {
  const pattern = `${batch}.*${part}.*\\.spec\\.js$`
  const child = spawn(process.execPath, [uvu, 'dist/spec', pattern, color], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const timer = setTimeout(() => {
    process.stderr.write(`specs ${batch}: not over after ${MOST_MS / 1000} s, ended\n`)
    child.kill('SIGKILL')
  }, MOST_MS)
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (more: string) => (text += more))
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer)
      process.stdout.write(text)
      const countOf = (name: string): number =>
        Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text.slice(-500))?.[1] ?? 0)
      resolve({ total: countOf('Total'), passed: countOf('Passed'), code })
    })
  })
}

const results = await Promise.all(BATCHES.map(run))
const total = results.reduce((sum, result) => sum + result.total, 0)
const passed = results.reduce((sum, result) => sum + result.passed, 0)
process.stdout.write(`specs: ${passed} passed, ${total - passed} failed\n`)
// A batch in which nothing matched is fine, but not all of them.
const isGood = results.every(({ code, total: count }) => code === 0 || count === 0)
process.exitCode = isGood && total > 0 && passed === total ? 0 : 1
