// How long the gateway takes to listen and gwctl to answer, compared with a Node that does nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Measure } from './measure.ts'
import type { Options } from './options.ts'
import { gatewayCommand, save, type Found } from './peers.ts'
import { median } from './stats.ts'

const STARTS = 7
const START_DEADLINE_MS = 20_000
/** The log phrase that says it listens. */
const LISTENS = 'started bind'

export const start: Measure = {
  title: `Start: ms until the gateway listens and until gwctl is done, medians of ${STARTS} starts`,
  speaks: 'start',
  columns: [
    { key: 'empty', title: 'node, doing nothing', digits: 0 },
    { key: 'gwctl', title: 'gwctl version', digits: 0 },
    { key: 'listening', title: 'gateway, listening', digits: 0 },
  ],
  leading: 'listening',
  fresh: false,
  round: async ({ name, options, folder }) => {
    const command = gatewayCommand(options)
    if (name === 'direct' || command === undefined) return {}
    const gwctl = join(import.meta.dirname, '../bin/gwctl.js')
    const file = save(
      folder,
      'start.yaml',
      'gateways: { default: { port: 0, address: 127.0.0.1 } }',
    )
    return {
      empty: await typical([process.execPath, '-e', '']),
      gwctl: await typical([process.execPath, gwctl, 'version']),
      listening: await typical([...command, '-f', file], LISTENS),
    }
  },
}

/** The gateway as the only peer. */
export function findStart(options: Options, folder: string): Found {
  const command = gatewayCommand(options)
  if (command === undefined)
    return { peers: [], missing: ['the gateway is not built: skipped (npm run build)'] }
  const config = (port: number): string => `gateways: { default: { port: ${port} } }`
  return {
    peers: [
      {
        name: 'gateway',
        speaks: 'start',
        command: (port) => [...command, '-f', save(folder, 'started.yaml', config(port))],
      },
    ],
    missing: [],
  }
}

async function typical(argv: readonly string[], until = ''): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < STARTS; at++) times.push(await timed(argv, until))
  return median(times)
}

/** Waits until the process has printed `until`, or has ended. */
async function timed([program = '', ...words]: readonly string[], until: string): Promise<number> {
  const began = performance.now()
  const child = spawn(program, words, {
    env: { ...process.env, ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: START_DEADLINE_MS,
  })
  const over = once(child, 'exit')
  let took = Number.NaN
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
    if (until === '' || !Number.isNaN(took) || !said.includes(until)) return
    took = performance.now() - began
    child.kill('SIGTERM')
  })
  await over
  return until === '' ? performance.now() - began : took
}
