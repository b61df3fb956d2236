// What a second worker adds on two cores: chats that the built-in mock answers, so that no backend is involved.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CHAT_BODY, CHAT_PATH } from './chat-fixtures.ts'
import type { Measure, Subject } from './measure.ts'
import type { Options } from './options.ts'
import { gatewayCommand, save, type Found, type Peer } from './peers.ts'
import { childrenMicros, found, onAllCores } from './process.ts'
import type { Sample } from './stats.ts'

const CONNECTIONS = 32

export const workers: Measure = {
  title: `Workers: a chat of 2 KB answered by the mock, ${CONNECTIONS} connections, as fast as it goes (wrk), on all cores`,
  speaks: 'workers',
  columns: [
    { key: 'rate', title: 'req/s', digits: 0 },
    { key: 'load', title: 'wrk, % of a core', digits: 0 },
  ],
  leading: 'rate',
  fresh: false,
  round: async (subject) => (subject.name === 'direct' ? {} : loaded(subject)),
}

export function findWorkers(options: Options, folder: string): Found {
  const command = gatewayCommand(options)
  if (command === undefined)
    return { peers: [], missing: ['the gateway is not built: skipped (npm run build)'] }
  if (!found('wrk')) return { peers: [], missing: ['wrk is not on PATH: workers are skipped'] }
  const peer = (name: 'gateway' | 'two workers', count: number): Peer => ({
    name,
    speaks: 'workers',
    cores: 'all',
    command: (port) => [
      ...command,
      '-f',
      save(folder, `workers-${count}.yaml`, config(port, count)),
    ],
  })
  return { peers: [peer('gateway', 1), peer('two workers', 2)], missing: [] }
}

function config(port: number, count: number): string {
  return `config: { workers: ${count} }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
  - backends: [{ ai: { name: main, provider: { mock: {} } } }]
`
}

async function loaded({ proxy, options, folder }: Subject): Promise<Sample> {
  const seconds = Math.max(1, Math.round(options.seconds))
  const script = join(folder, 'chat.lua')
  writeFileSync(
    script,
    `wrk.method = 'POST'\nwrk.body = [==[${CHAT_BODY}]==]\nwrk.headers['content-type'] = 'application/json'\n`,
  )
  const words = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', script]
  const [program = '', ...rest] = onAllCores(['wrk', ...words])
  const before = childrenMicros()
  const { stdout } = await promisify(execFile)(
    program,
    [...rest, `http://127.0.0.1:${proxy.port}${CHAT_PATH}`],
    { timeout: (seconds + 10) * 1000 },
  )
  const done = Number(/(\d+) requests in/.exec(stdout)?.[1] ?? Number.NaN)
  if (/Non-2xx|Socket errors/.test(stdout) || !(done > 0)) throw new Error(`wrk said: ${stdout}`)
  return { rate: done / seconds, load: (childrenMicros() - before) / seconds / 1e4 }
}
