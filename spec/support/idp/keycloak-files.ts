// Finds or installs Keycloak. The first run downloads it from Maven Central, checks it and runs its build step; later runs
// find it in the cache folder of the user.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const VERSION = '26.7.3'
const NAME = `keycloak-quarkus-dist-${VERSION}`
const URL = `https://repo1.maven.org/maven2/org/keycloak/keycloak-quarkus-dist/${VERSION}/${NAME}.tar.gz`
/** The checksum published with the archive. */
const SHA256 = '77657f30b7e90d70f727712ce1c967f430fd6a5e9f458d32d8c6df0635345f47'

const OLDEST_JAVA = 17
const DOWNLOAD_MS = 60_000
const PREPARE_MS = 90_000
const QUICK_MS = 10_000

/** `off` disables it. */
const SWITCH = 'GATEWAY_KEYCLOAK'

/** Without the optimizing compiler it starts faster. */
export const JAVA_OPTS = '-Xms128m -Xmx768m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC'

export type Found =
  | { readonly kind: 'found'; readonly home: string }
  | { readonly kind: 'missing'; readonly why: string }

export async function findKeycloak(): Promise<Found> {
  if (process.env[SWITCH] === 'off') return missing(`${SWITCH} is off`)
  const java = await javaVersion()
  if (java === null) return missing('Java is not installed')
  if (java < OLDEST_JAVA) return missing(`java ${java} is older than ${OLDEST_JAVA}`)
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gateway-spec')
  const home = join(cache, `keycloak-${VERSION}`)
  try {
    if (!existsSync(home)) await install(cache, home)
    return { kind: 'found', home }
  } catch (error) {
    return missing(`it could not be installed: ${String(error)}`)
  }
}

function missing(why: string): Found {
  return { kind: 'missing', why }
}

async function javaVersion(): Promise<number | null> {
  try {
    const text = await run('java', ['-version'], QUICK_MS)
    return Number(/version "(\d+)/.exec(text)?.[1] ?? 0)
  } catch {
    // Missing or broken.
    return null
  }
}

/** Installs in a temporary folder and renames it when complete, because another run may install at the same time. */
async function install(cache: string, home: string): Promise<void> {
  await mkdir(cache, { recursive: true })
  const work = await mkdtemp(join(cache, 'fetching-'))
  try {
    const archive = join(work, 'archive.tar.gz')
    await download(archive)
    await run('tar', ['xzf', archive, '-C', work], PREPARE_MS)
    const unpacked = join(work, `keycloak-${VERSION}`)
    await run(join(unpacked, 'bin/kc.sh'), ['build', '--db=dev-mem'], PREPARE_MS)
    await rename(unpacked, home).catch((error: unknown) => {
      if (!existsSync(home)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function download(file: string): Promise<void> {
  const response = await fetch(URL, { signal: AbortSignal.timeout(DOWNLOAD_MS) })
  if (response.status !== 200 || response.body === null)
    throw new Error(`the download of ${NAME} failed with status ${response.status}`)
  const hash = createHash('sha256')
  const hashed = async function* (source: AsyncIterable<Uint8Array>) {
    for await (const bytes of source) {
      hash.update(bytes)
      yield bytes
    }
  }
  await pipeline(Readable.fromWeb(response.body), hashed, createWriteStream(file))
  if (hash.digest('hex') !== SHA256) throw new Error(`${NAME} has the wrong checksum`)
}

/** Runs a command, and returns its output and error output. */
async function run(command: string, args: readonly string[], ms: number): Promise<string> {
  const env = { ...process.env, JAVA_OPTS }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: ms })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part))
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) => {
      if (code === 0) resolve(text)
      else reject(new Error(`${command} exited with ${code ?? signal}: ${text.slice(-2_000)}`))
    })
  })
}
