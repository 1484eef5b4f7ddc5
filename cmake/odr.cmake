# ninja odr: every object of the library, the command line and the server in one link-time-optimised link that makes no code. It reads the
# types of all of them, so that two of one name and namespace that differ (-Wodr), or two declarations of one function that do, are told.
set(odr_objects ${layer_objects} $<TARGET_OBJECTS:nnex_outside> $<TARGET_OBJECTS:nnex_apps> $<TARGET_OBJECTS:nnex_serve> $<TARGET_OBJECTS:nnex_cli>)
list(TRANSFORM odr_objects REPLACE "(.+)" "$<FILTER:\\1,EXCLUDE,[.]gch$>")  # precompiled headers are among them
add_custom_command(OUTPUT odr.o
  COMMAND ${CMAKE_CXX_COMPILER} -flto -Wodr -Wlto-type-mismatch -Werror=odr -Werror=lto-type-mismatch -r -nostdlib -flinker-output=rel ${odr_objects} -o odr.o
  DEPENDS ${odr_objects} COMMAND_EXPAND_LISTS VERBATIM COMMENT "Comparing the types of all objects")
add_custom_target(odr DEPENDS odr.o)
