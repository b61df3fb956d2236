// Runs all specs in a process of their own and ends it when it hangs: uvu has no time-out, and a server or child
// that a spec left open would keep it alive for ever.
//   node dist/spec/run.js [part of a path]

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from './support/root.ts'

const MOST_MS = 600_000

const uvu = join(ROOT, 'node_modules/uvu/bin.js')
const color = process.stdout.isTTY ? '--color' : '--no-color'
const [part = ''] = process.argv.slice(2)
const child = spawn(process.execPath, [uvu, 'dist/spec', `${part}.*\\.spec\\.js$`, color], {
  cwd: ROOT,
  stdio: ['ignore', 'pipe', 'inherit'],
})

let tail = ''
child.stdout.setEncoding('utf8').on('data', (text: string) => {
  tail = (tail + text).slice(-500)
  process.stdout.write(text)
})

const timer = setTimeout(() => {
  process.stderr.write(`specs: not over after ${MOST_MS / 1000} s, ended\n`)
  child.kill('SIGKILL')
}, MOST_MS)

child.on('close', (code) => {
  clearTimeout(timer)
  const total = countOf('Total')
  const passed = countOf('Passed')
  process.stdout.write(`specs: ${passed} passed, ${total - passed} failed\n`)
  process.exitCode = code === 0 && total > 0 ? 0 : 1
})

function countOf(name: string): number {
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(tail)?.[1] ?? 0)
}
