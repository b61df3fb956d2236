#!/usr/bin/env node
// Replaces a program in dist/bin: runs its bundle with the code that V8 compiled during the build. V8 rejects that code in
// another version of Node or with other flags, and compiles the bundle again.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script, constants } from 'node:vm'
import { crc32 } from 'node:zlib'

interface Meta {
  readonly url: string
  readonly dirname: string
  readonly resolve: (name: string) => string
}

type Program = (require: NodeJS.Require, metaOf: (path: string) => Meta) => void

const file = new URL(import.meta.url.replace(/\.js$/, '.bundle.js'))

/** The `import.meta` that a module of the bundle would have if it were loaded from dist/, by its path there. */
function metaOf(path: string): Meta {
  const url = new URL(`../${path}`, import.meta.url)
  const resolve = (name: string): string => import.meta.resolve(name)
  return { url: url.href, dirname: dirname(fileURLToPath(url)), resolve }
}

/** V8 does not check the bytes, and wrong ones would crash the process: the last 4 are a checksum of the others. */
function compiledOf(code: string): Buffer | undefined {
  const [, mark = ''] = /\{ \/\/ (\w+)/.exec(code) ?? []
  try {
    const kept = readFileSync(new URL(`${file.href}.${mark}.cache`))
    const compiled = kept.subarray(0, -4)
    return crc32(compiled) === kept.readUInt32LE(compiled.length) ? compiled : undefined
  } catch {
    return undefined
  }
}

// The bundle is ASCII, which V8 stores in one byte a character.
const code = readFileSync(file, 'latin1')
const cachedData = compiledOf(code)
const script = new Script(code, {
  filename: file.href,
  ...(cachedData === undefined ? {} : { cachedData }),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
})
const program = script.runInThisContext() as Program
program(createRequire(import.meta.url), metaOf)
