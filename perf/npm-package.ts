// Peers from npm, installed into a temporary folder of the run: the project itself does not depend on them.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { save } from './peers.ts'

/** `overrides`: versions that differ from what npm would choose. */
export type Package = { name: string; version: string; overrides?: Record<string, string> }

const INSTALL_DEADLINE_MS = 180_000

/** The command of a package's program, or the reason why there is none. */
export function installed(
  { name, version, overrides = {} }: Package,
  folder: string,
): string[] | string {
  console.error(`installing ${name} ${version} with npm`)
  const home = join(folder, 'npm', name)
  save(home, 'package.json', JSON.stringify({ private: true, overrides }))
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--prefer-offline']
  const { status, error, stderr } = spawnSync(
    'npm',
    ['install', '--prefix', home, ...flags, `${name}@${version}`],
    { encoding: 'utf8', timeout: INSTALL_DEADLINE_MS, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  if (error !== undefined) return `npm could not be run: ${error.message}`
  const reason = /^npm error .*$/m.exec(stderr)?.[0] ?? `npm ended with ${status}`
  if (status !== 0) return reason
  const root = join(home, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>
  }
  return [process.execPath, join(root, typeof bin === 'string' ? bin : (bin[name] ?? ''))]
}
