// Imported before a program that runs from its bundle: keeps what V8 compiled of it until the program ends.
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
      // The gateway changes this flag as it begins; what is kept is for a V8 that was told nothing yet.
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
