// Finds or builds the rate limit service of the Envoy project. The first run builds it with Go from its module; later runs
// find it in the cache folder of the user.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const GO = 'go'
const VERSION = 'v1.4.1-0.20260122083618-3fb702589d36'
const MODULE = 'github.com/envoyproxy/ratelimit/src/service_cmd'

/** The version in its go.mod. */
const OLDEST_GO: readonly [number, number, number] = [1, 25, 6]

const QUICK_MS = 10_000
const BUILD_MS = 240_000

/** `off` disables it. */
const SWITCH = 'GATEWAY_RLS'

export type Found =
  | { readonly kind: 'found'; readonly program: string }
  | { readonly kind: 'missing'; readonly why: string }

export async function findRls(): Promise<Found> {
  if (process.env[SWITCH] === 'off') return missing(`${SWITCH} is off`)
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gateway-spec')
  const program = join(cache, `ratelimit-${VERSION}`)
  if (existsSync(program)) return { kind: 'found', program }
  const go = await goVersion()
  if (go === null) return missing('Go is not installed')
  if (isOlder(go, OLDEST_GO))
    return missing(`go ${go.join('.')} is older than ${OLDEST_GO.join('.')}`)
  try {
    await build(cache, program)
    return { kind: 'found', program }
  } catch (error) {
    return missing(`it could not be built: ${String(error)}`)
  }
}

function missing(why: string): Found {
  return { kind: 'missing', why }
}

async function goVersion(): Promise<number[] | null> {
  try {
    const text = await go(['env', 'GOVERSION'], QUICK_MS)
    return text
      .replace(/^go|\s+$/g, '')
      .split('.')
      .map((part) => parseInt(part, 10))
  } catch {
    // Missing or broken.
    return null
  }
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  for (const [at, part] of than.entries()) {
    const own = version[at] ?? 0
    if (own !== part) return own < part
  }
  return false
}

/** Builds in a temporary folder and renames the program when complete, because another run may build at the same time. */
async function build(cache: string, program: string): Promise<void> {
  await mkdir(cache, { recursive: true })
  const work = await mkdtemp(join(cache, 'building-'))
  try {
    await go(['install', `${MODULE}@${VERSION}`], BUILD_MS, { GOBIN: work })
    await rename(join(work, 'service_cmd'), program)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Runs go, and returns its output and error output. */
async function go(
  args: readonly string[],
  ms: number,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  // Also searches the default folder of Go's installer. GOTOOLCHAIN: do not download the version that a module requests.
  const path = [process.env['PATH'] ?? '', '/usr/local/go/bin'].join(delimiter)
  const child = spawn(GO, args, {
    env: { ...process.env, PATH: path, GOTOOLCHAIN: 'local', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: ms,
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part))
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) => {
      if (code === 0) resolve(text)
      else reject(new Error(`go exited with ${code ?? signal}: ${text.slice(-2_000)}`))
    })
  })
}
