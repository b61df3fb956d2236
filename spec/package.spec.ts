// The built package has what package.json declares.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { VERSION } from '../lib/core/version.ts'
import { ROOT } from './support/root.ts'

interface Manifest {
  name: string
  license: string
  type: string
  engines: { node: string }
  bin: Record<string, string>
  files: string[]
  dependencies: Record<string, string>
  scripts: Record<string, string>
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const manifest = JSON.parse(read('package.json')) as Manifest

const EXACT = /^\d+\.\d+\.\d+$/

const pack = suite('package')

pack('has both programs built, executable and with a shebang', () => {
  assert.equal(Object.keys(manifest.bin), ['gateway', 'gwctl'])
  for (const path of Object.values(manifest.bin)) {
    assert.ok(read(path).startsWith('#!/usr/bin/env node\n'), path)
    assert.is(statSync(join(ROOT, path)).mode & 0o111, 0o111, path)
  }
})

pack('is built by npm ci alone', () => {
  assert.is(manifest.scripts['prepare'], 'npm run build')
})

pack('pins its dependencies: the parser of undici is not a public interface', () => {
  for (const [name, version] of Object.entries(manifest.dependencies))
    assert.match(version, EXACT, name)
  assert.match(manifest.dependencies['undici'] ?? '', /^7\./)
})

pack('declares the supported Node version', () => {
  assert.is(manifest.engines.node, '>=20.18.1')
  assert.is(manifest.type, 'module')
})

pack('ships programs, library and examples, but no specs', () => {
  assert.ok(manifest.files.includes('dist/bin'))
  assert.ok(manifest.files.includes('dist/lib'))
  assert.ok(manifest.files.includes('examples'))
  assert.not(manifest.files.some((path) => path === 'dist' || path.includes('spec')))
})

pack('contains the declared license', () => {
  assert.is(manifest.license, 'Apache-2.0')
  assert.match(read('LICENSE'), /Apache License\s+Version 2\.0[^]*END OF TERMS AND CONDITIONS/)
})

pack('ships the licence of every package in the bundle', () => {
  const { sources } = JSON.parse(read('dist/bin/gateway.bundle.js.map')) as { sources: string[] }
  const bundled = new Set(
    sources.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  )
  const notices = read('dist/bin/THIRD-PARTY-NOTICES.txt')
  assert.ok(bundled.has('undici') && bundled.size > 5, [...bundled].join())
  for (const name of bundled) {
    const { version } = JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string }
    const from = notices.search(new RegExp(`^${name} ${version.replaceAll('.', '\\.')}$`, 'm'))
    assert.ok(from >= 0, name)
    assert.match(notices.slice(from, from + 2000), /copyright|license/i, name)
  }
})

pack('lists this version in the changelog', () => {
  assert.match(read('CHANGELOG.md'), new RegExp(`^## ${VERSION.replaceAll('.', '\\.')}\\b`, 'm'))
})

pack.run()
