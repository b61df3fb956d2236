// Imported by the build before a program that runs from its bundle: saves what V8 has compiled when the program ends.
import { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import vm from 'node:vm'
import { crc32 } from 'node:zlib'

const { Script } = vm

vm.Script = class extends Script {
  constructor(code, options) {
    super(code, options)
    process.on('exit', () => {
      // The gateway sets the opposite (lib/base/process-patches.ts), but a new process loads the cache before it does.
      setFlagsFromString('--allocation-site-pretenuring')
      const [, mark] = /\{ \/\/ (\w+)/.exec(code)
      const compiled = this.createCachedData()
      const sum = Buffer.alloc(4)
      sum.writeUInt32LE(crc32(compiled))
      writeFileSync(new URL(`${options.filename}.${mark}.cache`), Buffer.concat([compiled, sum]))
    })
  }
}
syncBuiltinESMExports()
