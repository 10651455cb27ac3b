# cmake -DINPUTS=FILES -DOUTPUT=FILE -P QuoteText.cmake: writes the text of files as one string literal of C++.
set(text)
foreach(input ${INPUTS})
  file(READ ${input} part)
  string(APPEND text "${part}\n")
endforeach()
file(WRITE ${OUTPUT} "R\"markdown(${text})markdown\"\n")
