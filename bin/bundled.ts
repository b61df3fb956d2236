#!/usr/bin/env node
// Stands in the place of a program in dist/bin: runs its bundle, with what V8 compiled of it when it was built. Another
// Node, or one with other flags, does without: V8 looks whether it fits.

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

/** What a module of the bundle would be told if it were loaded from dist/, by its path there. */
function metaOf(path: string): Meta {
  const url = new URL(`../${path}`, import.meta.url)
  const resolve = (name: string): string => import.meta.resolve(name)
  return { url: url.href, dirname: dirname(fileURLToPath(url)), resolve }
}

/** V8 believes what it is given: wrong bytes would end the process. The last 4 are a sum of the others. */
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

// It is built in ASCII, which V8 keeps as it is read.
const code = readFileSync(file, 'latin1')
const cachedData = compiledOf(code)
const script = new Script(code, {
  filename: file.href,
  ...(cachedData === undefined ? {} : { cachedData }),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
})
const program = script.runInThisContext() as Program
program(createRequire(import.meta.url), metaOf)
